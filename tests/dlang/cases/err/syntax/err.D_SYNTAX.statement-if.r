dtrace: failed to compile script err.D_SYNTAX.statement-if.d: [D_SYNTAX] line 3: syntax error near "if"
err.D_SYNTAX.statement-if.d:3:2: [D_SYNTAX]
    	if (arg0 > 1)
    	^^
hint: use a predicate or ?:
