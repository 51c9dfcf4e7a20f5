dtrace: failed to compile script err.D_PRINTF_ARG_FMT.variable.d: [D_PRINTF_ARG_FMT] line 1: printf( ) argument #1 is incompatible with prototype:
	prototype: string constant
	 argument: string
err.D_PRINTF_ARG_FMT.variable.d:1:9: [D_PRINTF_ARG_FMT]
    BEGIN { printf(execname); }
            ^^^^^^^^^^^^^^^^
hint: printf("%s", string) prints any string
