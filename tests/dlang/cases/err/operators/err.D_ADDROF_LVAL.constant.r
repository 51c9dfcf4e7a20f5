dtrace: failed to compile script err.D_ADDROF_LVAL.constant.d: [D_ADDROF_LVAL] line 1: unacceptable operand for unary & operator
err.D_ADDROF_LVAL.constant.d:1:13: [D_ADDROF_LVAL]
    BEGIN { p = &3; }
                ^^
