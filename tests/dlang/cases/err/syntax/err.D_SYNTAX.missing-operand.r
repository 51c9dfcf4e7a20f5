dtrace: failed to compile script err.D_SYNTAX.missing-operand.d: [D_SYNTAX] line 3: syntax error near ";"
err.D_SYNTAX.missing-operand.d:3:9: [D_SYNTAX]
    	x = 1 +;
    	       ^
