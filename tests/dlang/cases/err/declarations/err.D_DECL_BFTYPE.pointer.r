dtrace: failed to compile script err.D_DECL_BFTYPE.pointer.d: [D_DECL_BFTYPE] line 1: invalid type for bit-field: a
err.D_DECL_BFTYPE.pointer.d:1:17: [D_DECL_BFTYPE]
    struct s { char *a : 3; };
                    ^^^^^^
