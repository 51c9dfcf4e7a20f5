dtrace: failed to compile script err.D_OP_PTR.struct.d: [D_OP_PTR] line 2: operator -> must be applied to a pointer
err.D_OP_PTR.struct.d:2:9: [D_OP_PTR]
    BEGIN { x->a = 1; }
            ^^^^
hint: use . for a struct that is no pointer
