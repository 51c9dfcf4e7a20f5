dtrace: failed to compile script err.D_DECL_IDRED.enumerator-as-variable.d: [D_DECL_IDRED] line 2: typedef identifier redeclared: B
err.D_DECL_IDRED.enumerator-as-variable.d:2:1: [D_DECL_IDRED]
    self int B;
    ^^^^^^^^^^
