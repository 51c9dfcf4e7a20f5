dtrace: failed to compile script err.D_SYNTAX.character.d: [D_SYNTAX] line 1: syntax error near "'b"
err.D_SYNTAX.character.d:1:13: [D_SYNTAX]
    BEGIN { 'a' 'b' }
                ^^^
hint: expected ; after the statement
