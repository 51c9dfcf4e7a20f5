dtrace: failed to compile script err.D_LQUANT_LIMTYPE.string.d: [D_PROTO_ARG] line 1: lquantize( ) argument #3 is incompatible with prototype:
	prototype: int32_t
	 argument: string
err.D_LQUANT_LIMTYPE.string.d:1:29: [D_PROTO_ARG]
    BEGIN { @ = lquantize(1, 0, "ten", 1); }
                                ^^^^^
