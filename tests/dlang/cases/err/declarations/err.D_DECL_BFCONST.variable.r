dtrace: failed to compile script err.D_DECL_BFCONST.variable.d: [D_DECL_BFCONST] line 2: positive integral constant expression expected as bit-field size
err.D_DECL_BFCONST.variable.d:2:16: [D_DECL_BFCONST]
    struct s { int a : 0; };
                   ^^^^^
