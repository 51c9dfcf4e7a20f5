dtrace: failed to compile script err.D_OP_INCOMPAT.append.d: [D_OP_INCOMPAT] line 1: operands have incompatible types: "string" += "string"
err.D_OP_INCOMPAT.append.d:1:18: [D_OP_INCOMPAT]
    BEGIN { s = "a"; s += "b"; }
                     ^^^^^^^^
hint: strjoin(a, b) joins two strings
