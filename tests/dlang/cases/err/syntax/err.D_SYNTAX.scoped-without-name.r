dtrace: failed to compile script err.D_SYNTAX.scoped-without-name.d: [D_SYNTAX] line 1: syntax error near end of input
err.D_SYNTAX.scoped-without-name.d:1:15: [D_SYNTAX]
    BEGIN { self->; }
                  ^
hint: -> needs a name behind it
