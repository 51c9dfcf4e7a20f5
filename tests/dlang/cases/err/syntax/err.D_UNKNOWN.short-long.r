dtrace: failed to compile script err.D_UNKNOWN.short-long.d: [D_UNKNOWN] line 1: failed to resolve type short long : Unknown type name
err.D_UNKNOWN.short-long.d:1:1: [D_UNKNOWN]
    long short x;
    ^^^^^^^^^^^^
