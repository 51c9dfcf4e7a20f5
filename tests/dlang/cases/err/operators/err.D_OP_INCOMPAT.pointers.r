dtrace: failed to compile script err.D_OP_INCOMPAT.pointers.d: [D_OP_INCOMPAT] line 3: operands have incompatible types: "int *" = "struct s *"
err.D_OP_INCOMPAT.pointers.d:3:9: [D_OP_INCOMPAT]
    BEGIN { p = q; }
            ^^^^^
