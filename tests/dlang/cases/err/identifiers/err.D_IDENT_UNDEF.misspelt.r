dtrace: failed to compile script err.D_IDENT_UNDEF.misspelt.d: [D_IDENT_UNDEF] line 3: failed to resolve timestmp: Unknown variable name
err.D_IDENT_UNDEF.misspelt.d:3:8: [D_IDENT_UNDEF]
    	trace(timestmp);
    	      ^^^^^^^^
hint: did you mean timestamp?
