dtrace: failed to compile script err.D_SYNTAX.format.d: [D_SYNTAX] line 1: format conversion #2 is undefined: %q
err.D_SYNTAX.format.d:1:16: [D_SYNTAX]
    BEGIN { printf("%d %q\n", 1, 2); }
                   ^^^^^^^^^
