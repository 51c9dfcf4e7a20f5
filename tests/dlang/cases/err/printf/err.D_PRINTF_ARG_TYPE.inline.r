dtrace: failed to compile script err.D_PRINTF_ARG_TYPE.inline.d: [D_PRINTF_ARG_TYPE] line 4: printf( ) argument #2 is incompatible with conversion #1 prototype:
	conversion: %ld
	 prototype: long
	  argument: int
err.D_PRINTF_ARG_TYPE.inline.d:4:16: [D_PRINTF_ARG_TYPE]
    	printf("%ld", L);
    	              ^
