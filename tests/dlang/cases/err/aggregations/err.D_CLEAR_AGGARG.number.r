dtrace: failed to compile script err.D_CLEAR_AGGARG.number.d: [D_CLEAR_AGGARG] line 1: clear( ) argument #1 is incompatible with prototype:
	prototype: aggregation
	 argument: int
err.D_CLEAR_AGGARG.number.d:1:9: [D_CLEAR_AGGARG]
    BEGIN { clear(1); }
            ^^^^^^^^
