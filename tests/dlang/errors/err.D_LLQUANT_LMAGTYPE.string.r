dtrace: failed to compile script err.D_LLQUANT_LMAGTYPE.string.d: [D_PROTO_ARG] line 1: llquantize( ) argument #3 is incompatible with prototype:
	prototype: int32_t
	 argument: string
err.D_LLQUANT_LMAGTYPE.string.d:1:31: [D_PROTO_ARG]
    BEGIN { @ = llquantize(1, 10, "0", 6, 10); }
                                  ^^^
