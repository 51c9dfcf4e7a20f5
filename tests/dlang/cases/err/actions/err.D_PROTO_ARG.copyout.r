dtrace: failed to compile script err.D_PROTO_ARG.copyout.d: [D_PROTO_ARG] line 1: copyout( ) argument #1 is incompatible with prototype:
	prototype: void *
	 argument: int64_t
err.D_PROTO_ARG.copyout.d:1:17: [D_PROTO_ARG]
    BEGIN { copyout(arg0, 0x1000, 4); }
                    ^^^^
