dtrace: failed to compile script err.D_OP_INCOMPAT.void.d: [D_OP_INCOMPAT] line 1: operands have incompatible types: "void" = "void"
err.D_OP_INCOMPAT.void.d:1:9: [D_OP_INCOMPAT]
    BEGIN { x = copyoutstr("abc", 0x1000, 4); }
            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
