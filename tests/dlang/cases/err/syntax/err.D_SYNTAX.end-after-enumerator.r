dtrace: failed to compile script err.D_SYNTAX.end-after-enumerator.d: [D_SYNTAX] line 1: syntax error near end of input
err.D_SYNTAX.end-after-enumerator.d:1:11: [D_SYNTAX]
    enum e { A
              ^
hint: expected } here
