dtrace: failed to compile script err.D_DECL_ARRBIG.dimension.d: [D_DECL_ARRBIG] line 1: array dimension too big
err.D_DECL_ARRBIG.dimension.d:1:1: [D_DECL_ARRBIG]
    char a[5000000000];
    ^^^^^^^^^^^^^^^^^^
