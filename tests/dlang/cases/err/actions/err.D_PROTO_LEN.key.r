dtrace: failed to compile script err.D_PROTO_LEN.key.d: [D_PROTO_LEN] line 1: a[ ] prototype mismatch: 1 key passed, 2 expected
err.D_PROTO_LEN.key.d:1:28: [D_PROTO_LEN]
    BEGIN { a[1, 2] = 3; trace(a[1]); }
                               ^^^^
