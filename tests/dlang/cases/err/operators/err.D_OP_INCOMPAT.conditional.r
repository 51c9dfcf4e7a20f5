dtrace: failed to compile script err.D_OP_INCOMPAT.conditional.d: [D_OP_INCOMPAT] line 1: operator ?: operands must have compatible types
err.D_OP_INCOMPAT.conditional.d:1:15: [D_OP_INCOMPAT]
    BEGIN { trace(arg0 ? "yes" : 1); }
                  ^^^^^^^^^^^^^^^^
