dtrace: failed to compile script err.D_LLQUANT_STEPVAL.factor.d: [D_LLQUANT_STEPVAL] line 1: llquantize() argument #4 (steps) must evenly divide argument #1 (factor) when steps<factor
err.D_LLQUANT_STEPVAL.factor.d:1:13: [D_LLQUANT_STEPVAL]
    BEGIN { @ = llquantize(1, 10, 0, 6, 3); }
                ^^^^^^^^^^^^^^^^^^^^^^^^^^
