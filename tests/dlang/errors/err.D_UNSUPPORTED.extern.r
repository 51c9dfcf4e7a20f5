dtrace: failed to compile script err.D_UNSUPPORTED.extern.d: [D_UNSUPPORTED] line 1: external declarations are not supported yet
err.D_UNSUPPORTED.extern.d:1:1: [D_UNSUPPORTED]
    extern int x;
    ^^^^^^^^^^^^
