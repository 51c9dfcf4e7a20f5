dtrace: failed to compile script err.D_PRAGMA_INVAL.depends.d: [D_PRAGMA_INVAL] line 1: invalid class moon specified by #pragma depends_on
err.D_PRAGMA_INVAL.depends.d:1:1: [D_PRAGMA_INVAL]
    #pragma D depends_on moon full
    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
