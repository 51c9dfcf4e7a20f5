dtrace: failed to compile script err.D_TRACEMEM_ADDR.struct.d: [D_TRACEMEM_ADDR] line 1: tracemem( ) argument #1 is incompatible with prototype:
	prototype: pointer or integer
	 argument: struct s
err.D_TRACEMEM_ADDR.struct.d:1:42: [D_TRACEMEM_ADDR]
    struct s { int a; }; struct s v; BEGIN { tracemem(v, 4); }
                                             ^^^^^^^^^^^^^^
