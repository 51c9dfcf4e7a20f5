dtrace: failed to compile script err.D_OP_INCOMPAT.string-int.d: [D_OP_INCOMPAT] line 4: operands have incompatible types: "int" = "string"
err.D_OP_INCOMPAT.string-int.d:4:2: [D_OP_INCOMPAT]
    	x = "one";
    	^^^^^^^^^
hint: copyinstr(arg) makes a string of an argument that is an address
