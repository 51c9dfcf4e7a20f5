dtrace: failed to compile script err.D_LQUANT_STEPSMALL.levels.d: [D_LQUANT_STEPSMALL] line 1: lquantize( ) step (argument #3) too small: number of quantization levels must be a 16-bit quantity
err.D_LQUANT_STEPSMALL.levels.d:1:13: [D_LQUANT_STEPSMALL]
    BEGIN { @ = lquantize(1, 0, 1000000, 1); }
                ^^^^^^^^^^^^^^^^^^^^^^^^^^^
