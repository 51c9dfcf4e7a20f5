dtrace: failed to compile script err.D_OP_ARRFUN.array-or-null.d: [D_OP_ARRFUN] line 5: operator = may not be applied to operand of type "char [4]"
err.D_OP_ARRFUN.array-or-null.d:5:2: [D_OP_ARRFUN]
    	self->s = c ? NULL : st.a;
    	^^^^^^^^^^^^^^^^^^^^^^^^^
hint: declare the variable: string name;
