dtrace: failed to compile script err.D_OP_ACT.comma.d: [D_OP_ACT] line 1: operator , operands cannot be actions
err.D_OP_ACT.comma.d:1:9: [D_OP_ACT]
    BEGIN { trace(1), trace(2); }
            ^^^^^^^^^^^^^^^^^^
hint: separate actions by ;
