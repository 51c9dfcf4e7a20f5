dtrace: failed to compile script err.D_LLQUANT_MATCHSTEPS.second.d: [D_LLQUANT_MATCHSTEPS] line 1: llquantize() steps (argument #4) doesn't match previous declaration: expected 10, found 20
err.D_LLQUANT_MATCHSTEPS.second.d:1:46: [D_LLQUANT_MATCHSTEPS]
    BEGIN { @ = llquantize(1, 10, 0, 6, 10); @ = llquantize(1, 10, 0, 6, 20); }
                                                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^
