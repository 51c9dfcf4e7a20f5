dtrace: failed to compile script err.D_UNKNOWN.qualifier.d: [D_UNKNOWN] line 1: failed to resolve type : Unknown type name
err.D_UNKNOWN.qualifier.d:1:13: [D_UNKNOWN]
    int f(int x[restrict 3]);
                ^^^^^^^^
