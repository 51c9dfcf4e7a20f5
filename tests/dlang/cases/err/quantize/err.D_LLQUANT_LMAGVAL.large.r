dtrace: failed to compile script err.D_LLQUANT_LMAGVAL.large.d: [D_LLQUANT_LMAGVAL] line 1: llquantize( ) argument #2 must be an unsigned 16-bit quantity
err.D_LLQUANT_LMAGVAL.large.d:1:13: [D_LLQUANT_LMAGVAL]
    BEGIN { @ = llquantize(1, 10, 65536, 6, 10); }
                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
