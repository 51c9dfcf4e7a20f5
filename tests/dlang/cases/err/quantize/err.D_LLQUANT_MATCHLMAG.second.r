dtrace: failed to compile script err.D_LLQUANT_MATCHLMAG.second.d: [D_LLQUANT_MATCHLMAG] line 1: llquantize() lmag (argument #2) doesn't match previous declaration: expected 0, found 1
err.D_LLQUANT_MATCHLMAG.second.d:1:46: [D_LLQUANT_MATCHLMAG]
    BEGIN { @ = llquantize(1, 10, 0, 6, 10); @ = llquantize(1, 10, 1, 6, 10); }
                                                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^
