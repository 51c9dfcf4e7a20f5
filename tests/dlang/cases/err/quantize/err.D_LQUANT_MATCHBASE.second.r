dtrace: failed to compile script err.D_LQUANT_MATCHBASE.second.d: [D_LQUANT_MATCHBASE] line 1: lquantize( ) base (argument #1) doesn't match previous declaration: expected 0, found 1
err.D_LQUANT_MATCHBASE.second.d:1:41: [D_LQUANT_MATCHBASE]
    BEGIN { @ = lquantize(1, 0, 10, 1); @ = lquantize(1, 1, 10, 1); }
                                            ^^^^^^^^^^^^^^^^^^^^^^
