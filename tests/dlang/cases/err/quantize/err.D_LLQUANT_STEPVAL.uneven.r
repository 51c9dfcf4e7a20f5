dtrace: failed to compile script err.D_LLQUANT_STEPVAL.uneven.d: [D_LLQUANT_STEPVAL] line 1: llquantize() argument #4 (steps) must be a multiple of argument #1 (factor) when steps>factor
err.D_LLQUANT_STEPVAL.uneven.d:1:13: [D_LLQUANT_STEPVAL]
    BEGIN { @ = llquantize(1, 10, 0, 6, 15); }
                ^^^^^^^^^^^^^^^^^^^^^^^^^^^
