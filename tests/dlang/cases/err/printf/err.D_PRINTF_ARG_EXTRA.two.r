dtrace: failed to compile script err.D_PRINTF_ARG_EXTRA.two.d: [D_PRINTF_ARG_EXTRA] line 1: printf( ) prototype mismatch: only 1 arguments required by this format string
err.D_PRINTF_ARG_EXTRA.two.d:1:27: [D_PRINTF_ARG_EXTRA]
    BEGIN { printf("%d\n", 1, 2); }
                              ^
hint: each argument needs a conversion in the format, such as %d or %s
