dtrace: failed to compile script err.D_OP_ARRFUN.string-or-pointer.d: [D_OP_ARRFUN] line 5: operator = may not be applied to operand of type "char [256]"
err.D_OP_ARRFUN.string-or-pointer.d:5:2: [D_OP_ARRFUN]
    	s[1] = c ? p : "a";
    	^^^^^^^^^^^^^^^^^^
hint: declare the variable: string name;
