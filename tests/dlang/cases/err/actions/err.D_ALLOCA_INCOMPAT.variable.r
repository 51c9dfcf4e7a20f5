dtrace: failed to compile script err.D_ALLOCA_INCOMPAT.variable.d: [D_ALLOCA_INCOMPAT] line 2: p: cannot reuse the same identifier for both alloca and non-alloca allocations
err.D_ALLOCA_INCOMPAT.variable.d:2:9: [D_ALLOCA_INCOMPAT]
    BEGIN { p = (char *)arg1; }
            ^^^^^^^^^^^^^^^^
hint: use two variables
