dtrace: failed to compile script err.D_NORMALIZE_AGGARG.denormalize.d: [D_NORMALIZE_AGGARG] line 1: denormalize( ) argument #1 is incompatible with prototype:
	prototype: aggregation
	 argument: int
err.D_NORMALIZE_AGGARG.denormalize.d:1:9: [D_NORMALIZE_AGGARG]
    BEGIN { denormalize(1); }
            ^^^^^^^^^^^^^^
