dtrace: failed to compile script err.D_DECL_IDRED.kind.d: [D_DECL_IDRED] line 2: identifier redeclared: x
	 current: associative array int
	previous: scalar int
err.D_DECL_IDRED.kind.d:2:1: [D_DECL_IDRED]
    int x[int];
    ^^^^^^^^^^
