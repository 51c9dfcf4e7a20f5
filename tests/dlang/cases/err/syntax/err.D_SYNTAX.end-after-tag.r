dtrace: failed to compile script err.D_SYNTAX.end-after-tag.d: [D_SYNTAX] line 2: syntax error near end of input
err.D_SYNTAX.end-after-tag.d:2:1: [D_SYNTAX]
hint: expected a name to declare
