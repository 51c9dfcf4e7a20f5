dtrace: failed to compile script err.D_SYNTAX.end-behind-arrow.d: [D_SYNTAX] line 1: syntax error near end of input
err.D_SYNTAX.end-behind-arrow.d:3:1: [D_SYNTAX]
hint: expected a member's name
