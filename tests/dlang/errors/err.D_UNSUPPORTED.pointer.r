dtrace: failed to compile script err.D_UNSUPPORTED.pointer.d: [D_UNSUPPORTED] line 1: pointers are not supported yet
err.D_UNSUPPORTED.pointer.d:1:1: [D_UNSUPPORTED]
    int *p;
    ^^^^^^
