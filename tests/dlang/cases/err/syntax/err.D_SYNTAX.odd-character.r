dtrace: failed to compile script err.D_SYNTAX.odd-character.d: [D_SYNTAX] line 1: syntax error near "\"
err.D_SYNTAX.odd-character.d:1:13: [D_SYNTAX]
    BEGIN { x = \1; }
                ^
