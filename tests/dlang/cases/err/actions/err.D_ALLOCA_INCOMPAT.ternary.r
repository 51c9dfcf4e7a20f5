dtrace: failed to compile script err.D_ALLOCA_INCOMPAT.ternary.d: [D_ALLOCA_INCOMPAT] line 3: ternary conditional with alloca and non-alloca branches cannot be assigned to a variable
err.D_ALLOCA_INCOMPAT.ternary.d:3:2: [D_ALLOCA_INCOMPAT]
    	a = a == NULL ? (char *)50 : a;
    	^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
hint: use two variables
