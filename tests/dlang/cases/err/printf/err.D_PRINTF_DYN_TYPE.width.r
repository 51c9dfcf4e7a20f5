dtrace: failed to compile script err.D_PRINTF_DYN_TYPE.width.d: [D_PRINTF_DYN_TYPE] line 1: printf( ) argument #2 is incompatible with conversion #1 prototype:
	conversion: % * d
	 prototype: int
	  argument: string
err.D_PRINTF_DYN_TYPE.width.d:1:23: [D_PRINTF_DYN_TYPE]
    BEGIN { printf("%*d", "5", 1); }
                          ^^^
