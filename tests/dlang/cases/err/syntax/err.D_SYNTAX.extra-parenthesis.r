dtrace: failed to compile script err.D_SYNTAX.extra-parenthesis.d: [D_SYNTAX] line 1: extra ) in input stream
err.D_SYNTAX.extra-parenthesis.d:1:17: [D_SYNTAX]
    BEGIN { trace(1)); }
                    ^
