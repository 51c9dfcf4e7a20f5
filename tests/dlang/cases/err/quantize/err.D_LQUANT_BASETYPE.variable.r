dtrace: failed to compile script err.D_LQUANT_BASETYPE.variable.d: [D_LQUANT_BASETYPE] line 1: lquantize( ) argument #1 must be an integer constant
err.D_LQUANT_BASETYPE.variable.d:1:13: [D_LQUANT_BASETYPE]
    BEGIN { @ = lquantize(1, pid, 10, 1); }
                ^^^^^^^^^^^^^^^^^^^^^^^^
