dtrace: failed to compile script err.D_DECL_IDRED.include.d: [D_DECL_IDRED] "script.d", line 3: typedef redeclared: foo
script.d:3:1: [D_DECL_IDRED]
    typedef char foo;
    ^^^^^^^^^^^^^^^^
