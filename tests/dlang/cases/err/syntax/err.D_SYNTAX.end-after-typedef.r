dtrace: failed to compile script err.D_SYNTAX.end-after-typedef.d: [D_SYNTAX] line 1: syntax error near end of input
err.D_SYNTAX.end-after-typedef.d:1:21: [D_SYNTAX]
    typedef int foo; foo
                        ^
hint: expected a name to declare
