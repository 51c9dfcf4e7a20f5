dtrace: failed to compile script err.D_PROTO_ARG.argument.d: [D_PROTO_ARG] line 1: exit( ) argument #1 is incompatible with prototype:
	prototype: int
	 argument: string
err.D_PROTO_ARG.argument.d:1:14: [D_PROTO_ARG]
    BEGIN { exit("failed"); }
                 ^^^^^^^^
