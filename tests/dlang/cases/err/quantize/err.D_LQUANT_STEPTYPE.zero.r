dtrace: failed to compile script err.D_LQUANT_STEPTYPE.zero.d: [D_LQUANT_STEPTYPE] line 1: lquantize( ) argument #3 must be a non-zero positive integer constant
err.D_LQUANT_STEPTYPE.zero.d:1:13: [D_LQUANT_STEPTYPE]
    BEGIN { @ = lquantize(1, 0, 10, 0); }
                ^^^^^^^^^^^^^^^^^^^^^^
