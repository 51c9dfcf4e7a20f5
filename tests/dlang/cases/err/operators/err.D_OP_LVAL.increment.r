dtrace: failed to compile script err.D_OP_LVAL.increment.d: [D_OP_LVAL] line 1: operator ++ requires modifiable lvalue as an operand
err.D_OP_LVAL.increment.d:1:10: [D_OP_LVAL]
    BEGIN { (1 + arg0)++; }
             ^^^^^^^^^^^
