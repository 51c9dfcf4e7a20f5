dtrace: failed to compile script err.D_LLQUANT_HMAGTYPE.variable.d: [D_LLQUANT_HMAGTYPE] line 1: llquantize( ) argument #3 must be an integer constant
err.D_LLQUANT_HMAGTYPE.variable.d:1:13: [D_LLQUANT_HMAGTYPE]
    BEGIN { @ = llquantize(1, 10, 0, pid, 10); }
                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
