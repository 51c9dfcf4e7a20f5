dtrace: failed to compile script err.D_IDENT_UNDEF.predicate.d: [D_IDENT_UNDEF] line 2: failed to resolve seen: Unknown variable name
err.D_IDENT_UNDEF.predicate.d:2:2: [D_IDENT_UNDEF]
    /seen/
     ^^^^
hint: a string has double quotes: "seen"; assign a variable before you read it
