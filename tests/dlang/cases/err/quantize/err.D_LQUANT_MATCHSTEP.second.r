dtrace: failed to compile script err.D_LQUANT_MATCHSTEP.second.d: [D_LQUANT_MATCHSTEP] line 1: lquantize( ) step (argument #3) doesn't match previous declaration: expected 1, found 2
err.D_LQUANT_MATCHSTEP.second.d:1:41: [D_LQUANT_MATCHSTEP]
    BEGIN { @ = lquantize(1, 0, 10, 1); @ = lquantize(1, 0, 10, 2); }
                                            ^^^^^^^^^^^^^^^^^^^^^^
