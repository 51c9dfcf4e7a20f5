dtrace: failed to compile script err.D_NORMALIZE_AGGARG.number.d: [D_NORMALIZE_AGGARG] line 1: normalize( ) argument #1 is incompatible with prototype:
	prototype: aggregation
	 argument: int
err.D_NORMALIZE_AGGARG.number.d:1:9: [D_NORMALIZE_AGGARG]
    BEGIN { normalize(1, 2); }
            ^^^^^^^^^^^^^^^
