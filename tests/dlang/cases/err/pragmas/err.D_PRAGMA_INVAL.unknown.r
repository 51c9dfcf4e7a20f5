dtrace: failed to compile script err.D_PRAGMA_INVAL.unknown.d: [D_PRAGMA_INVAL] line 1: invalid D pragma: options
err.D_PRAGMA_INVAL.unknown.d:1:1: [D_PRAGMA_INVAL]
    #pragma D options quiet
    ^^^^^^^^^^^^^^^^^^^^^^^
hint: the most used one is #pragma D option
