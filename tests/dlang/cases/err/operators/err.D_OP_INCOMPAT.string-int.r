dtrace: failed to compile script err.D_OP_INCOMPAT.string-int.d: [D_OP_INCOMPAT] line 4: operands have incompatible types: "int" = "string"
err.D_OP_INCOMPAT.string-int.d:4:2: [D_OP_INCOMPAT]
    	x = "one";
    	^^^^^^^^^
hint: x is an int since err.D_OP_INCOMPAT.string-int.d:3:2; use another variable for the string
