dtrace: failed to compile script err.D_CHR_OFLOW.nine.d: [D_CHR_OFLOW] line 1: character constant is too long
err.D_CHR_OFLOW.nine.d:1:15: [D_CHR_OFLOW]
    BEGIN { trace('123456789'); }
                  ^^^^^^^^^^^
hint: a string has double quotes: "…"
