dtrace: failed to compile script err.D_OP_ARRFUN.string-or-null.d: [D_OP_ARRFUN] line 4: operator = may not be applied to operand of type "char [256]"
err.D_OP_ARRFUN.string-or-null.d:4:2: [D_OP_ARRFUN]
    	s = c ? "a" : NULL;
    	^^^^^^^^^^^^^^^^^^
hint: declare the variable: string name;
