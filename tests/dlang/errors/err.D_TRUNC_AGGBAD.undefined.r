dtrace: failed to compile script err.D_TRUNC_AGGBAD.undefined.d: [D_IDENT_UNDEF] line 1: failed to resolve @a: Unknown variable name
err.D_TRUNC_AGGBAD.undefined.d:1:15: [D_IDENT_UNDEF]
    BEGIN { trunc(@a, 3); }
                  ^^
hint: assign it first: @a = count();
