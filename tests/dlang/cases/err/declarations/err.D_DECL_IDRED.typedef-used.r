dtrace: failed to compile script err.D_DECL_IDRED.typedef-used.d: [D_DECL_IDRED] line 2: typedef identifier redeclared: number
err.D_DECL_IDRED.typedef-used.d:2:1: [D_DECL_IDRED]
    int number;
    ^^^^^^^^^^
