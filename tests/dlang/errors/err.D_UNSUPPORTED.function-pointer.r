dtrace: failed to compile script err.D_UNSUPPORTED.function-pointer.d: [D_UNSUPPORTED] line 1: function types are not supported yet
err.D_UNSUPPORTED.function-pointer.d:1:1: [D_UNSUPPORTED]
    int (*f)(int, char *);
    ^^^^^^^^^^^^^^^^^^^^^
