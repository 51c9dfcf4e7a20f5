dtrace: failed to compile script err.D_OP_INT.string-mod.d: [D_OP_INT] line 1: operator % requires operands of integral type
err.D_OP_INT.string-mod.d:1:15: [D_OP_INT]
    BEGIN { trace(execname % 2); }
                  ^^^^^^^^^^^^
