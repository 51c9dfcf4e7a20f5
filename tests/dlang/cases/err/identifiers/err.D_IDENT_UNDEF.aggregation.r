dtrace: failed to compile script err.D_IDENT_UNDEF.aggregation.d: [D_IDENT_UNDEF] line 1: failed to resolve @a: Unknown variable name
err.D_IDENT_UNDEF.aggregation.d:1:15: [D_IDENT_UNDEF]
    BEGIN { trace(@a); }
                  ^^
hint: assign it first: @a = count();
