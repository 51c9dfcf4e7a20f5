dtrace: failed to compile script err.D_LLQUANT_FACTORTYPE.variable.d: [D_LLQUANT_FACTORTYPE] line 1: llquantize( ) argument #1 must be an integer constant
err.D_LLQUANT_FACTORTYPE.variable.d:1:13: [D_LLQUANT_FACTORTYPE]
    BEGIN { @ = llquantize(1, pid, 0, 6, 10); }
                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
