dtrace: failed to compile script err.D_SYNTAX.end-after-variable.d: [D_SYNTAX] line 3: syntax error near end-of-input
err.D_SYNTAX.end-after-variable.d:3:1: [D_SYNTAX]
