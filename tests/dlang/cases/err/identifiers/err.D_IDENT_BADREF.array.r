dtrace: failed to compile script err.D_IDENT_BADREF.array.d: [D_IDENT_BADREF] line 1: associative array 'a' may not be referenced as scalar
err.D_IDENT_BADREF.array.d:1:25: [D_IDENT_BADREF]
    BEGIN { a[1] = 2; trace(a); }
                            ^
