dtrace: failed to compile script err.D_SYNTAX.assign-to-sum.d: [D_SYNTAX] line 1: syntax error near "="
err.D_SYNTAX.assign-to-sum.d:1:15: [D_SYNTAX]
    BEGIN { a + b = 1; }
                  ^
hint: the left side of an assignment is a variable; == compares
