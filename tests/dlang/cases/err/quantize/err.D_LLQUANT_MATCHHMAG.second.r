dtrace: failed to compile script err.D_LLQUANT_MATCHHMAG.second.d: [D_LLQUANT_MATCHHMAG] line 1: llquantize() hmag (argument #3) doesn't match previous declaration: expected 6, found 7
err.D_LLQUANT_MATCHHMAG.second.d:1:46: [D_LLQUANT_MATCHHMAG]
    BEGIN { @ = llquantize(1, 10, 0, 6, 10); @ = llquantize(1, 10, 0, 7, 10); }
                                                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^
