dtrace: failed to compile script err.D_DECL_IDRED.typedef.d: [D_DECL_IDRED] line 2: typedef redeclared: size
err.D_DECL_IDRED.typedef.d:2:1: [D_DECL_IDRED]
    typedef char size;
    ^^^^^^^^^^^^^^^^^
