dtrace: failed to compile script err.D_DECL_IDRED.included.d: [D_DECL_IDRED] "x.h", line 3: typedef redeclared: foo
x.h:3:1: [D_DECL_IDRED]
    typedef short foo;
    ^^^^^^^^^^^^^^^^^
