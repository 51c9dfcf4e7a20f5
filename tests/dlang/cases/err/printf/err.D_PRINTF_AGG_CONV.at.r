dtrace: failed to compile script err.D_PRINTF_AGG_CONV.at.d: [D_PRINTF_AGG_CONV] line 1: %@ conversion requires an aggregation and is not for use with printf( )
err.D_PRINTF_AGG_CONV.at.d:1:16: [D_PRINTF_AGG_CONV]
    BEGIN { printf("%@d", 1); }
                   ^^^^^
