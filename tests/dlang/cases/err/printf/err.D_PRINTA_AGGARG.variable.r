dtrace: failed to compile script err.D_PRINTA_AGGARG.variable.d: [D_PRINTA_AGGARG] line 1: printa( ) argument #2 is incompatible with prototype:
	prototype: aggregation
	 argument: pid_t
err.D_PRINTA_AGGARG.variable.d:1:9: [D_PRINTA_AGGARG]
    BEGIN { printa("%@d", pid); }
            ^^^^^^^^^^^^^^^^^^
