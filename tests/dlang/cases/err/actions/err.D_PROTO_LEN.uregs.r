dtrace: failed to compile script err.D_PROTO_LEN.uregs.d: [D_PROTO_LEN] line 1: uregs[ ] prototype mismatch: 2 args passed, 1 expected
err.D_PROTO_LEN.uregs.d:1:15: [D_PROTO_LEN]
    BEGIN { trace(uregs[1, 2]); }
                  ^^^^^^^^^^^
