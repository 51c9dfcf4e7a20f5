dtrace: failed to compile script err.D_PRINTF_ARG_TYPE.string.d: [D_PRINTF_ARG_TYPE] line 3: printf( ) argument #2 is incompatible with conversion #1 prototype:
	conversion: %d
	 prototype: char, short, int, long, or long long
	  argument: string
err.D_PRINTF_ARG_TYPE.string.d:4:6: [D_PRINTF_ARG_TYPE]
    	    execname);
    	    ^^^^^^^^
hint: %s prints a string
