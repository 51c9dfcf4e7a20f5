dtrace: failed to compile script err.D_LLQUANT_MATCHFACTOR.second.d: [D_LLQUANT_MATCHFACTOR] line 1: llquantize() factor (argument #1) doesn't match previous declaration: expected 10, found 2
err.D_LLQUANT_MATCHFACTOR.second.d:1:46: [D_LLQUANT_MATCHFACTOR]
    BEGIN { @ = llquantize(1, 10, 0, 6, 10); @ = llquantize(1, 2, 0, 6, 2); }
                                                 ^^^^^^^^^^^^^^^^^^^^^^^^^
