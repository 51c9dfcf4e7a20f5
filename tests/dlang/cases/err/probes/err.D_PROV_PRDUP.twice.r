dtrace: failed to compile script err.D_PROV_PRDUP.twice.d: [D_PROV_PRDUP] line 3: probe redeclared: web:::go
err.D_PROV_PRDUP.twice.d:3:2: [D_PROV_PRDUP]
    	probe go(int);
    	^^^^^^^^^^^^^
