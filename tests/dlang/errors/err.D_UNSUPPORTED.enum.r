dtrace: failed to compile script err.D_UNSUPPORTED.enum.d: [D_UNSUPPORTED] line 1: enumerations are not supported yet
err.D_UNSUPPORTED.enum.d:1:1: [D_UNSUPPORTED]
    enum color { RED, GREEN = 3, BLUE, };
    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
