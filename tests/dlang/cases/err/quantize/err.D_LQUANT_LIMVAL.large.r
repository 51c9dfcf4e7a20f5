dtrace: failed to compile script err.D_LQUANT_LIMVAL.large.d: [D_LQUANT_LIMVAL] line 1: lquantize( ) argument #2 must be a 32-bit quantity
err.D_LQUANT_LIMVAL.large.d:1:13: [D_LQUANT_LIMVAL]
    BEGIN { @ = lquantize(1, 0, 4294967299, 1); }
                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
