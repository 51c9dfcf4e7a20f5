dtrace: failed to compile script err.D_ARR_BADREF.scalar.d: [D_ARR_BADREF] line 1: cannot access scalar x as an associative array
err.D_ARR_BADREF.scalar.d:1:16: [D_ARR_BADREF]
    BEGIN { x = 1; x[1, 2] = 3; }
                   ^^^^^^^
