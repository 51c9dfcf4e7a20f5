dtrace: failed to compile script err.D_UNKNOWN.offsetof.d: [D_UNKNOWN] line 2: failed to determine offset of y: Member name not found.
err.D_UNKNOWN.offsetof.d:2:15: [D_UNKNOWN]
    BEGIN { trace(offsetof(struct point, y)); }
                  ^^^^^^^^^^^^^^^^^^^^^^^^^
