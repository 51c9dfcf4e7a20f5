dtrace: failed to compile script err.D_IDENT_BADREF.inline-array.d: [D_IDENT_BADREF] line 2: associative array 'add' may not be referenced as scalar
err.D_IDENT_BADREF.inline-array.d:2:15: [D_IDENT_BADREF]
    BEGIN { trace(add); }
                  ^^^
