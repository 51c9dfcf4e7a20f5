dtrace: failed to compile script err.D_UNSUPPORTED.offsetof.d: [D_UNSUPPORTED] line 1: offsetof() is not supported yet
err.D_UNSUPPORTED.offsetof.d:1:15: [D_UNSUPPORTED]
    BEGIN { trace(offsetof(struct point, y)); }
                  ^^^^^^^^^^^^^^^^^^^^^^^^^
