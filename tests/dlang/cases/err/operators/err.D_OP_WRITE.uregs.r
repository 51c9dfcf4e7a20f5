dtrace: failed to compile script err.D_OP_WRITE.uregs.d: [D_OP_WRITE] line 1: operator = can only be applied to a writable variable
err.D_OP_WRITE.uregs.d:1:9: [D_OP_WRITE]
    BEGIN { uregs[R_RAX] = 2; }
            ^^^^^^^^^^^^^^^^
hint: == compares; uregs[10] is a variable of D
