dtrace: failed to compile script err.D_DECL_IDRED.end.d: [D_DECL_IDRED] "x.h", line 1: typedef redeclared: int8_t
x.h:1:1: [D_DECL_IDRED]
    typedef int int8_t;
    ^^^^^^^^^^^^^^^^^^
