dtrace: failed to compile script err.D_CLEAR_AGGBAD.undefined.d: [D_IDENT_UNDEF] line 1: failed to resolve @a: Unknown variable name
err.D_CLEAR_AGGBAD.undefined.d:1:15: [D_IDENT_UNDEF]
    BEGIN { clear(@a); }
                  ^^
hint: assign it first: @a = count();
