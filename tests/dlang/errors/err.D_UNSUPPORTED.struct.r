dtrace: failed to compile script err.D_UNSUPPORTED.struct.d: [D_UNSUPPORTED] line 1: structures and unions are not supported yet
err.D_UNSUPPORTED.struct.d:1:1: [D_UNSUPPORTED]
    struct point {
    ^^^^^^^^^^^^^^
