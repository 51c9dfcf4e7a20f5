dtrace: failed to compile script err.D_ARR_BOUNDS.index.d: [D_ARR_BOUNDS] line 2: index outside array bounds: 5, max is 5
err.D_ARR_BOUNDS.index.d:2:9: [D_ARR_BOUNDS]
    BEGIN { a[5] = 1; }
            ^^^^
hint: the last element is [4]
