dtrace: failed to compile script err.D_PRINTF_ARG_TYPE.left.d: [D_PRINTF_ARG_TYPE] line 1: printf( ) argument #2 is incompatible with conversion #1 prototype:
	conversion: %s
	 prototype: char [] or string (or use stringof)
	  argument: unsigned long
err.D_PRINTF_ARG_TYPE.left.d:1:22: [D_PRINTF_ARG_TYPE]
    BEGIN { printf("%s", (unsigned long)1 + (u64)1); }
                         ^^^^^^^^^^^^^^^^^^^^^^^^^
hint: copyinstr(arg) makes a string of an argument that is an address; %d prints a number
