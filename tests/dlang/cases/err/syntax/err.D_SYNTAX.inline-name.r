dtrace: failed to compile script err.D_SYNTAX.inline-name.d: [D_SYNTAX] line 2: syntax error near "q"
err.D_SYNTAX.inline-name.d:2:17: [D_SYNTAX]
    BEGIN { trace(5 q 3); }
                    ^
hint: expected , or ) here
