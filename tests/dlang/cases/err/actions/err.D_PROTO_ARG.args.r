dtrace: failed to compile script err.D_PROTO_ARG.args.d: [D_PROTO_ARG] line 1: args[ ] argument #1 is incompatible with prototype:
	prototype: integer constant
	 argument: int
err.D_PROTO_ARG.args.d:1:22: [D_PROTO_ARG]
    BEGIN { i = 1; trace(args[i]); }
                         ^^^^^^^
