dtrace: failed to compile script err.D_LQUANT_BASEVAL.large.d: [D_LQUANT_BASEVAL] line 1: lquantize( ) argument #1 must be a 32-bit quantity
err.D_LQUANT_BASEVAL.large.d:1:13: [D_LQUANT_BASEVAL]
    BEGIN { @ = lquantize(1, 4294967296, 4294967299, 1); }
                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
