dtrace: failed to compile script err.D_UNKNOWN.uregs.d: [D_UNKNOWN] line 1: uregs[]: index out of bounds (4242)
err.D_UNKNOWN.uregs.d:1:15: [D_UNKNOWN]
    BEGIN { trace(uregs[4242]); }
                  ^^^^^^^^^^^
