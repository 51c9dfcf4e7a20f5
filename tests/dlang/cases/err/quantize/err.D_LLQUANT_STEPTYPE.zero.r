dtrace: failed to compile script err.D_LLQUANT_STEPTYPE.zero.d: [D_LLQUANT_STEPTYPE] line 1: llquantize( ) argument #4 must be a non-zero positive integer constant
err.D_LLQUANT_STEPTYPE.zero.d:1:13: [D_LLQUANT_STEPTYPE]
    BEGIN { @ = llquantize(1, 10, 0, 6, 0); }
                ^^^^^^^^^^^^^^^^^^^^^^^^^^
