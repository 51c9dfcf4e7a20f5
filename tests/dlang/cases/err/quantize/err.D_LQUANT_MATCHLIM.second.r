dtrace: failed to compile script err.D_LQUANT_MATCHLIM.second.d: [D_LQUANT_MATCHLIM] line 1: lquantize( ) limit (argument #2) doesn't match previous declaration: expected 10, found 20
err.D_LQUANT_MATCHLIM.second.d:1:41: [D_LQUANT_MATCHLIM]
    BEGIN { @ = lquantize(1, 0, 10, 1); @ = lquantize(1, 0, 20, 1); }
                                            ^^^^^^^^^^^^^^^^^^^^^^
