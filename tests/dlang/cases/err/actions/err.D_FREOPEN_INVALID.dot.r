dtrace: failed to compile script err.D_FREOPEN_INVALID.dot.d: [D_FREOPEN_INVALID] line 1: freopen( ) argument #1 cannot be "."
err.D_FREOPEN_INVALID.dot.d:1:9: [D_FREOPEN_INVALID]
    BEGIN { freopen("."); }
            ^^^^^^^^^^^^
