dtrace: failed to compile script err.D_OP_LVAL.constant.d: [D_OP_LVAL] line 1: operator = requires modifiable lvalue as an operand
err.D_OP_LVAL.constant.d:1:9: [D_OP_LVAL]
    BEGIN { 1 = 2; }
            ^^^^^
