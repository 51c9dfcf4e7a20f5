dtrace: failed to compile script err.D_OP_ARITH.times-string.d: [D_OP_ARITH] line 1: operator * requires operands of arithmetic type
err.D_OP_ARITH.times-string.d:1:15: [D_OP_ARITH]
    BEGIN { trace(2 * "x"); }
                  ^^^^^^^
