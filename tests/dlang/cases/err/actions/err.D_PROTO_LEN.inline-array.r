dtrace: failed to compile script err.D_PROTO_LEN.inline-array.d: [D_PROTO_LEN] line 2: add[ ] prototype mismatch: 1 key passed, 2 expected
err.D_PROTO_LEN.inline-array.d:2:15: [D_PROTO_LEN]
    BEGIN { trace(add[1]); }
                  ^^^^^^
