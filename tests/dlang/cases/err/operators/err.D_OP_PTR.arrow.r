dtrace: failed to compile script err.D_OP_PTR.arrow.d: [D_OP_PTR] line 1: operator -> must be applied to a pointer
err.D_OP_PTR.arrow.d:1:22: [D_OP_PTR]
    BEGIN { x = 1; trace(x->y); }
                         ^^^^
hint: cast the address to a pointer: ((struct name *)arg0)->member
