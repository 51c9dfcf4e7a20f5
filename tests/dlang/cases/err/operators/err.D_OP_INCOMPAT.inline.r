dtrace: failed to compile script err.D_OP_INCOMPAT.inline.d: [D_OP_INCOMPAT] line 1: inline n definition uses incompatible types: "int" = "string"
err.D_OP_INCOMPAT.inline.d:1:1: [D_OP_INCOMPAT]
    inline int n = "three";
    ^^^^^^^^^^^^^^^^^^^^^^
