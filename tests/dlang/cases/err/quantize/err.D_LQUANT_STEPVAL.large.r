dtrace: failed to compile script err.D_LQUANT_STEPVAL.large.d: [D_LQUANT_STEPVAL] line 1: lquantize( ) argument #3 must be a 16-bit quantity
err.D_LQUANT_STEPVAL.large.d:1:13: [D_LQUANT_STEPVAL]
    BEGIN { @ = lquantize(1, 0, 1000000, 65536); }
                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
