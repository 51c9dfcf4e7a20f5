dtrace: failed to compile script err.D_UNSUPPORTED.float.d: [D_UNSUPPORTED] line 1: floating-point types are not supported yet
err.D_UNSUPPORTED.float.d:1:1: [D_UNSUPPORTED]
    double d;
    ^^^^^^^^
