dtrace: failed to compile script err.D_LLQUANT_FACTORVAL.one.d: [D_LLQUANT_FACTORVAL] line 1: llquantize( ) argument #1 must be an unsigned 16-bit quantity greater than or equal to 2
err.D_LLQUANT_FACTORVAL.one.d:1:13: [D_LLQUANT_FACTORVAL]
    BEGIN { @ = llquantize(1, 1, 0, 6, 10); }
                ^^^^^^^^^^^^^^^^^^^^^^^^^^
