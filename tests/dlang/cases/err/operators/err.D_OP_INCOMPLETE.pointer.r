dtrace: failed to compile script err.D_OP_INCOMPLETE.pointer.d: [D_OP_INCOMPLETE] line 3: operator -> cannot be applied to a forward declaration: no struct zork definition is available
err.D_OP_INCOMPLETE.pointer.d:3:15: [D_OP_INCOMPLETE]
    BEGIN { trace(p->x); }
                  ^^^^
hint: define struct zork with its members
