dtrace: failed to compile script err.D_SYNTAX.enumerator.d: [D_SYNTAX] line 3: syntax error near "B"
err.D_SYNTAX.enumerator.d:3:12: [D_SYNTAX]
    struct s { B b; };
               ^
