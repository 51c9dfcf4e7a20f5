dtrace: failed to compile script err.D_PRINTF_ARG_TYPE.address.d: [D_PRINTF_ARG_TYPE] line 3: printf( ) argument #2 is incompatible with conversion #1 prototype:
	conversion: %s
	 prototype: char [] or string (or use stringof)
	  argument: int64_t
err.D_PRINTF_ARG_TYPE.address.d:3:17: [D_PRINTF_ARG_TYPE]
    	printf("%s\n", arg0);
    	               ^^^^
hint: copyinstr(arg) makes a string of an argument that is an address; %d prints a number
