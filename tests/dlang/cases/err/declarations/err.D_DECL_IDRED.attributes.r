dtrace: failed to compile script err.D_DECL_IDRED.attributes.d: [D_DECL_IDRED] line 1: typedef redeclared: u64
err.D_DECL_IDRED.attributes.d:1:1: [D_DECL_IDRED]
    typedef unsigned long u64;
    ^^^^^^^^^^^^^^^^^^^^^^^^^
