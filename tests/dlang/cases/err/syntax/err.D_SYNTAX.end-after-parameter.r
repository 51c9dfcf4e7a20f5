dtrace: failed to compile script err.D_SYNTAX.end-after-parameter.d: [D_SYNTAX] line 1: syntax error near end of input
err.D_SYNTAX.end-after-parameter.d:1:24: [D_SYNTAX]
    inline int f[int a] = a
                           ^
hint: expected ; here
