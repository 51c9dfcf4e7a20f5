dtrace: failed to compile script err.D_LLQUANT_HMAGVAL.overflow.d: [D_LLQUANT_HMAGVAL] line 1: llquantize( ) argument #3 (high magnitude) will cause overflow of 64 bits
err.D_LLQUANT_HMAGVAL.overflow.d:1:13: [D_LLQUANT_HMAGVAL]
    BEGIN { @ = llquantize(1, 10, 0, 30, 10); }
                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
