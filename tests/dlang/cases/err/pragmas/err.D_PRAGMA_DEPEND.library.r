dtrace: failed to compile script err.D_PRAGMA_DEPEND.library.d: [D_PRAGMA_DEPEND] line 1: main program may not explicitly depend on a library
err.D_PRAGMA_DEPEND.library.d:1:1: [D_PRAGMA_DEPEND]
    #pragma D depends_on library net.d
    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
hint: -L names a folder of libraries
