dtrace: failed to compile script err.D_OP_VFPTR.aggregation.d: [D_OP_VFPTR] line 1: operator += requires left-hand scalar operand of known size
err.D_OP_VFPTR.aggregation.d:1:30: [D_OP_VFPTR]
    BEGIN { @a = count(); x = 1; x += @a; }
                                 ^^^^^^^
