dtrace: failed to compile script err.D_UNSUPPORTED.function.d: [D_UNSUPPORTED] line 1: the function ddi_pathname() is not supported
err.D_UNSUPPORTED.function.d:1:15: [D_UNSUPPORTED]
    BEGIN { trace(ddi_pathname(alloca(8), 1)); }
                  ^^^^^^^^^^^^^^^^^^^^^^^^^^
hint: it looks into the kernel's data, and the kernel is not traced
