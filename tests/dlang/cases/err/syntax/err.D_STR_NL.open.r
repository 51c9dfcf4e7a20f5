dtrace: failed to compile script err.D_STR_NL.open.d: [D_STR_NL] line 2: newline encountered in string literal
err.D_STR_NL.open.d:1:15: [D_STR_NL]
    BEGIN { trace("one
                  ^^^^
hint: close the string on its line; \n is the newline inside one
