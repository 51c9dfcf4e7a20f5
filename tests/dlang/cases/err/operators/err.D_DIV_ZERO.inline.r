dtrace: failed to compile script err.D_DIV_ZERO.inline.d: [D_DIV_ZERO] line 4: expression contains division by zero
err.D_DIV_ZERO.inline.d:4:8: [D_DIV_ZERO]
    	trace(1 / Z);
    	      ^^^^^
