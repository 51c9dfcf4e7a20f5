dtrace: failed to compile script err.D_TRUNC_AGGARG.number.d: [D_TRUNC_AGGARG] line 1: trunc( ) argument #1 is incompatible with prototype:
	prototype: aggregation
	 argument: int
err.D_TRUNC_AGGARG.number.d:1:9: [D_TRUNC_AGGARG]
    BEGIN { trunc(1); }
            ^^^^^^^^
