dtrace: failed to compile script err.D_DECL_ENCONST.variable.d: [D_DECL_ENCONST] line 1: enumerator 'A' must be assigned to an integral constant expression
err.D_DECL_ENCONST.variable.d:1:10: [D_DECL_ENCONST]
    enum e { A = arg0 };
             ^^^^^^^^
