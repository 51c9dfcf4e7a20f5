dtrace: failed to compile script err.D_CHR_NL.open.d: [D_CHR_NL] line 2: newline encountered in character constant
err.D_CHR_NL.open.d:1:15: [D_CHR_NL]
    BEGIN { trace('a
                  ^^
