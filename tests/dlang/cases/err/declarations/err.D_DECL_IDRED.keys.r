dtrace: failed to compile script err.D_DECL_IDRED.keys.d: [D_DECL_IDRED] line 2: identifier redeclared: a
	 current: associative array of int, tuple length 2
	previous: associative array of int, tuple length 1
err.D_DECL_IDRED.keys.d:2:1: [D_DECL_IDRED]
    int a[int, string];
    ^^^^^^^^^^^^^^^^^^
