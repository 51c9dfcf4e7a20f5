BEGIN { trace(unknown 	 word); }
