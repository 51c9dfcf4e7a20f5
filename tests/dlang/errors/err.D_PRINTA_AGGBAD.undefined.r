dtrace: failed to compile script err.D_PRINTA_AGGBAD.undefined.d: [D_IDENT_UNDEF] line 1: failed to resolve @a: Unknown variable name
err.D_PRINTA_AGGBAD.undefined.d:1:16: [D_IDENT_UNDEF]
    BEGIN { printa(@a); }
                   ^^
hint: assign it first: @a = count();
