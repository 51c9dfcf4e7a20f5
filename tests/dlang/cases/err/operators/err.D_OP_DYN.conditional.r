dtrace: failed to compile script err.D_OP_DYN.conditional.d: [D_OP_DYN] line 1: operator ?: operands cannot be of dynamic type
err.D_OP_DYN.conditional.d:1:29: [D_OP_DYN]
    BEGIN { @a = count(); trace(pid ? @a : 1); }
                                ^^^^^^^^^^^^
