dtrace: failed to compile script err.D_SYNTAX.end-after-member.d: [D_SYNTAX] line 1: syntax error near end of input
err.D_SYNTAX.end-after-member.d:1:16: [D_SYNTAX]
    BEGIN { this->x
                   ^
hint: expected ; after the statement
