dtrace: failed to compile script err.D_SYNTAX.end-incomplete.d: [D_SYNTAX] line 1: syntax error near end-of-input
err.D_SYNTAX.end-incomplete.d:1:11: [D_SYNTAX]
    struct s x
              ^
