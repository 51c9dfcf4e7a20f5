dtrace: failed to compile script err.D_LLQUANT_HMAGVAL.lower.d: [D_LLQUANT_HMAGVAL] line 1: llquantize( ) argument #3 (high magnitude) must be at least argument #2 (low magnitude)
err.D_LLQUANT_HMAGVAL.lower.d:1:13: [D_LLQUANT_HMAGVAL]
    BEGIN { @ = llquantize(1, 10, 3, 2, 10); }
                ^^^^^^^^^^^^^^^^^^^^^^^^^^^
