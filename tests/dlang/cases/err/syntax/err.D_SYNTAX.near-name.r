dtrace: failed to compile script err.D_SYNTAX.near-name.d: [D_SYNTAX] line 1: syntax error near "word); }"
err.D_SYNTAX.near-name.d:1:25: [D_SYNTAX]
    BEGIN { trace(unknown 	 word); }
                          	 ^^^^
hint: expected , or ) here
