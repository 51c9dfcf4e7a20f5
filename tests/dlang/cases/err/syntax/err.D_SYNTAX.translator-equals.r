dtrace: failed to compile script err.D_SYNTAX.translator-equals.d: [D_SYNTAX] line 1: syntax error near "x"
err.D_SYNTAX.translator-equals.d:1:56: [D_SYNTAX]
    struct s { int a; }; translator struct s < int x > { a x; };
                                                           ^
hint: expected = here
