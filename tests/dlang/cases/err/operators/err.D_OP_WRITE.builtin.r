dtrace: failed to compile script err.D_OP_WRITE.builtin.d: [D_OP_WRITE] line 1: operator = can only be applied to a writable variable
err.D_OP_WRITE.builtin.d:1:9: [D_OP_WRITE]
    BEGIN { pid = 1; }
            ^^^^^^^
hint: == compares; pid is a variable of D
