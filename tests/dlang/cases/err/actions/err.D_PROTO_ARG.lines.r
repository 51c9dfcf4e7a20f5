dtrace: failed to compile script err.D_PROTO_ARG.lines.d: [D_PROTO_ARG] line 3: copyinstr( ) argument #1 is incompatible with prototype:
	prototype: uintptr_t
	 argument: string
err.D_PROTO_ARG.lines.d:4:6: [D_PROTO_ARG]
    	    execname));
    	    ^^^^^^^^
hint: it is a string already
