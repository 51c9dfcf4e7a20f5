dtrace: failed to compile script err.D_IDENT_UNDEF.enumerator.d: [D_IDENT_UNDEF] line 1: failed to resolve x: Unknown variable name
err.D_IDENT_UNDEF.enumerator.d:1:14: [D_IDENT_UNDEF]
    enum e { A = x + 1 };
                 ^
hint: a string has double quotes: "x"; assign a variable before you read it
