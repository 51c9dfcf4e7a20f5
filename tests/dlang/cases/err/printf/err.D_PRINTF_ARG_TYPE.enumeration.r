dtrace: failed to compile script err.D_PRINTF_ARG_TYPE.enumeration.d: [D_PRINTF_ARG_TYPE] line 4: printf( ) argument #2 is incompatible with conversion #1 prototype:
	conversion: %lx
	 prototype: long
	  argument: enum e
err.D_PRINTF_ARG_TYPE.enumeration.d:4:16: [D_PRINTF_ARG_TYPE]
    	printf("%lx", g);
    	              ^
