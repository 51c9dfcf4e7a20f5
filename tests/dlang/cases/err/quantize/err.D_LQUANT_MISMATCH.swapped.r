dtrace: failed to compile script err.D_LQUANT_MISMATCH.swapped.d: [D_LQUANT_MISMATCH] line 1: lquantize( ) base (argument #1) must be less than limit (argument #2)
err.D_LQUANT_MISMATCH.swapped.d:1:13: [D_LQUANT_MISMATCH]
    BEGIN { @ = lquantize(1, 10, 0, 1); }
                ^^^^^^^^^^^^^^^^^^^^^^
