dtrace: failed to compile script err.D_OP_INCOMPAT.join.d: [D_OP_INCOMPAT] line 1: operands have incompatible types: "string" + "string"
err.D_OP_INCOMPAT.join.d:1:15: [D_OP_INCOMPAT]
    BEGIN { trace(execname + ".log"); }
                  ^^^^^^^^^^^^^^^^^
hint: strjoin(a, b) joins two strings
