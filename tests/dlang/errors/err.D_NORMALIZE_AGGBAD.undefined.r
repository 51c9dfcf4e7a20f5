dtrace: failed to compile script err.D_NORMALIZE_AGGBAD.undefined.d: [D_IDENT_UNDEF] line 1: failed to resolve @a: Unknown variable name
err.D_NORMALIZE_AGGBAD.undefined.d:1:19: [D_IDENT_UNDEF]
    BEGIN { normalize(@a, 10); }
                      ^^
hint: assign it first: @a = count();
