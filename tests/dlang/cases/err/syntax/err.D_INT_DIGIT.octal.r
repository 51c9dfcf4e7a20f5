dtrace: failed to compile script err.D_INT_DIGIT.octal.d: [D_INT_DIGIT] line 1: constant 0789 contains invalid digit 8
err.D_INT_DIGIT.octal.d:1:15: [D_INT_DIGIT]
    BEGIN { trace(0789); }
                  ^^^^
hint: a constant that begins with 0 is octal
