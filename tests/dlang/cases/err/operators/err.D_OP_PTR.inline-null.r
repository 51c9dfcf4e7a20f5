dtrace: failed to compile script err.D_OP_PTR.inline-null.d: [D_OP_PTR] line 5: operator -> must be applied to a pointer
err.D_OP_PTR.inline-null.d:5:8: [D_OP_PTR]
    	trace(P->i);
    	      ^^^^
hint: cast the address to a pointer: ((struct name *)arg0)->member
