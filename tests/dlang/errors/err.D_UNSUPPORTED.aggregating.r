dtrace: failed to compile script err.D_UNSUPPORTED.aggregating.d: [D_UNSUPPORTED] line 1: the aggregating function lquantize() is not supported yet
err.D_UNSUPPORTED.aggregating.d:1:14: [D_UNSUPPORTED]
    BEGIN { @a = lquantize(arg0, 0, 10, 1); }
                 ^^^^^^^^^^^^^^^^^^^^^^^^^
