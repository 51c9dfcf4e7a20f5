dtrace: failed to compile script err.D_DECL_IDRED.key-type.d: [D_DECL_IDRED] line 2: identifier redeclared: a
	 current: associative array, key #1 of type string
	previous: associative array, key #1 of type int
err.D_DECL_IDRED.key-type.d:2:1: [D_DECL_IDRED]
    int a[string];
    ^^^^^^^^^^^^^
