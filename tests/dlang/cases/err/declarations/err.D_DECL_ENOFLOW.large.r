dtrace: failed to compile script err.D_DECL_ENOFLOW.large.d: [D_DECL_ENOFLOW] line 1: enumerator 'A' value overflows INT_MAX (2147483647)
err.D_DECL_ENOFLOW.large.d:1:10: [D_DECL_ENOFLOW]
    enum e { A = 2147483648 };
             ^^^^^^^^^^^^^^
