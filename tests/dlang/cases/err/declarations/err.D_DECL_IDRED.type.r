dtrace: failed to compile script err.D_DECL_IDRED.type.d: [D_DECL_IDRED] line 2: identifier redeclared: x
	 current: scalar string
	previous: scalar int
err.D_DECL_IDRED.type.d:2:1: [D_DECL_IDRED]
    string x;
    ^^^^^^^^
