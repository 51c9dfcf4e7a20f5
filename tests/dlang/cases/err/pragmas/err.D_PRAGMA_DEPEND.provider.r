dtrace: failed to compile script err.D_PRAGMA_DEPEND.provider.d: [D_PRAGMA_DEPEND] line 1: program requires provider nobody
err.D_PRAGMA_DEPEND.provider.d:1:1: [D_PRAGMA_DEPEND]
    #pragma D depends_on provider nobody
    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
