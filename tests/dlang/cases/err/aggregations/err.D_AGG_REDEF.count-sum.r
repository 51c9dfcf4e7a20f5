dtrace: failed to compile script err.D_AGG_REDEF.count-sum.d: [D_AGG_REDEF] line 8: aggregation redefined: @calls
	 current: @calls = sum( )
	previous: @calls = count( ) : line 3
err.D_AGG_REDEF.count-sum.d:8:2: [D_AGG_REDEF]
    	@calls = sum(1);
    	^^^^^^^^^^^^^^^
hint: use another name for the other function
