dtrace: failed to compile script err.D_ARR_BADREF.pointer.d: [D_ARR_BADREF] line 2: cannot access scalar a as an associative array
err.D_ARR_BADREF.pointer.d:2:15: [D_ARR_BADREF]
    BEGIN { trace(a[1, 2]); }
                  ^^^^^^^
