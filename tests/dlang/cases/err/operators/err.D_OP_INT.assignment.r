dtrace: failed to compile script err.D_OP_INT.assignment.d: [D_OP_INT] line 1: operator <<= requires operands of integral type
err.D_OP_INT.assignment.d:1:18: [D_OP_INT]
    BEGIN { s = "x"; s <<= 1; }
                     ^^^^^^^
