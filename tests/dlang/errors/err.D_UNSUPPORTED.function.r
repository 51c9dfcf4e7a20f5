dtrace: failed to compile script err.D_UNSUPPORTED.function.d: [D_UNSUPPORTED] line 1: the function copyoutstr() is not supported
err.D_UNSUPPORTED.function.d:1:9: [D_UNSUPPORTED]
    BEGIN { copyoutstr("a", 1, 2); }
            ^^^^^^^^^^^^^^^^^^^^^
hint: the traced process is read, never written: tracing must not change what is traced
