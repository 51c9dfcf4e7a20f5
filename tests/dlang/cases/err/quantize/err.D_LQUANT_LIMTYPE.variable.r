dtrace: failed to compile script err.D_LQUANT_LIMTYPE.variable.d: [D_LQUANT_LIMTYPE] line 1: lquantize( ) argument #2 must be an integer constant
err.D_LQUANT_LIMTYPE.variable.d:1:13: [D_LQUANT_LIMTYPE]
    BEGIN { @ = lquantize(1, 0, pid, 1); }
                ^^^^^^^^^^^^^^^^^^^^^^^
