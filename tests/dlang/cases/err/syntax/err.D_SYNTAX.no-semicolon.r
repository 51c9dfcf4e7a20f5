dtrace: failed to compile script err.D_SYNTAX.no-semicolon.d: [D_SYNTAX] line 4: syntax error near "trace"
err.D_SYNTAX.no-semicolon.d:4:2: [D_SYNTAX]
    	trace(2);
    	^^^^^
hint: expected ; after the statement
