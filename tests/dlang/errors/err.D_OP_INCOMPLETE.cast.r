dtrace: failed to compile script err.D_UNSUPPORTED.cast.d: [D_UNSUPPORTED] line 1: structures and unions are not supported yet
err.D_UNSUPPORTED.cast.d:1:17: [D_UNSUPPORTED]
    BEGIN { trace(((struct point *)arg0)->x); }
                    ^^^^^^^^^^^^
