dtrace: failed to compile script err.D_UNSUPPORTED.inline.d: [D_UNSUPPORTED] line 1: inline definitions are not supported yet
err.D_UNSUPPORTED.inline.d:1:1: [D_UNSUPPORTED]
    inline int LIMIT = 10;
    ^^^^^^^^^^^^^^^^^^^^^^
