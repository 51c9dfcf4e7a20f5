dtrace: failed to compile script err.D_LQUANT_STEPLARGE.range.d: [D_LQUANT_STEPLARGE] line 1: lquantize( ) step (argument #3) too large: must have at least one quantization level
err.D_LQUANT_STEPLARGE.range.d:1:13: [D_LQUANT_STEPLARGE]
    BEGIN { @ = lquantize(1, 0, 10, 11); }
                ^^^^^^^^^^^^^^^^^^^^^^^
