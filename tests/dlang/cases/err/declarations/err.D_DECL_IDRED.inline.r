dtrace: failed to compile script err.D_DECL_IDRED.inline.d: [D_DECL_IDRED] line 2: identifier redefined: x
	 current: inline definition
	previous: scalar 
err.D_DECL_IDRED.inline.d:2:1: [D_DECL_IDRED]
    inline int x = 3;
    ^^^^^^^^^^^^^^^^
hint: choose another name
