dtrace: failed to compile script err.D_SYNTAX.unclosed-brace.d: [D_SYNTAX] line 4: syntax error near end of input
err.D_SYNTAX.unclosed-brace.d:4:1: [D_SYNTAX]
hint: a { is not closed
