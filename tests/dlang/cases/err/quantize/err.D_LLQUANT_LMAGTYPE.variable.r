dtrace: failed to compile script err.D_LLQUANT_LMAGTYPE.variable.d: [D_LLQUANT_LMAGTYPE] line 1: llquantize( ) argument #2 must be an integer constant
err.D_LLQUANT_LMAGTYPE.variable.d:1:13: [D_LLQUANT_LMAGTYPE]
    BEGIN { @ = llquantize(1, 10, pid, 6, 10); }
                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
