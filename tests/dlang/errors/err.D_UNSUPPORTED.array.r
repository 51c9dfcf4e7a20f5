dtrace: failed to compile script err.D_UNSUPPORTED.array.d: [D_UNSUPPORTED] line 1: arrays are not supported yet
err.D_UNSUPPORTED.array.d:1:1: [D_UNSUPPORTED]
    int a[5];
    ^^^^^^^^
