dtrace: failed to compile script err.D_ALLOCA_INCOMPAT.or-null.d: [D_ALLOCA_INCOMPAT] line 5: ternary conditional with alloca and non-alloca branches cannot be assigned to a variable
err.D_ALLOCA_INCOMPAT.or-null.d:5:2: [D_ALLOCA_INCOMPAT]
    	p = c ? alloca(4) : NULL;
    	^^^^^^^^^^^^^^^^^^^^^^^^
hint: use two variables
