dtrace: failed to compile script err.D_IDENT_UNDEF.argument.d: [D_IDENT_UNDEF] line 3: failed to resolve argO: Unknown variable name
err.D_IDENT_UNDEF.argument.d:3:36: [D_IDENT_UNDEF]
    	printf("%d %s\n", arg0, copyinstr(argO));
    	                                  ^^^^
hint: did you mean arg0?
