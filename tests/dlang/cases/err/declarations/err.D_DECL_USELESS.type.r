dtrace: failed to compile script err.D_DECL_USELESS.type.d: [D_DECL_USELESS] line 1: useless declaration
err.D_DECL_USELESS.type.d:1:1: [D_DECL_USELESS]
    int;
    ^^^^
hint: give the variable a name
