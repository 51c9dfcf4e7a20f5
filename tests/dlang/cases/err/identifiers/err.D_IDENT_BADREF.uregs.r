dtrace: failed to compile script err.D_IDENT_BADREF.uregs.d: [D_IDENT_BADREF] line 1: associative array 'uregs' may not be referenced as scalar
err.D_IDENT_BADREF.uregs.d:1:15: [D_IDENT_BADREF]
    BEGIN { trace(uregs); }
                  ^^^^^
hint: uregs[R_RIP] is a register
