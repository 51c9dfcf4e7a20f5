dtrace: failed to compile script err.D_DIV_ZERO.constant.d: [D_DIV_ZERO] line 4: expression contains division by zero
err.D_DIV_ZERO.constant.d:3:8: [D_DIV_ZERO]
    	trace(arg0 /
    	      ^^^^^^
