dtrace: failed to compile script err.D_OP_INCOMPLETE.cast.d: [D_OP_INCOMPLETE] line 1: operator -> cannot be applied to a forward declaration: no struct point definition is available
err.D_OP_INCOMPLETE.cast.d:1:16: [D_OP_INCOMPLETE]
    BEGIN { trace(((struct point *)arg0)->x); }
                   ^^^^^^^^^^^^^^^^^^^^^^^^
hint: define struct point with its members
