dtrace: failed to compile script err.D_SYNTAX.bracket-as-member.d: [D_SYNTAX] line 1: syntax error near end of input
err.D_SYNTAX.bracket-as-member.d:1:12: [D_SYNTAX]
    BEGIN { x->}
               ^
hint: -> needs a name behind it
