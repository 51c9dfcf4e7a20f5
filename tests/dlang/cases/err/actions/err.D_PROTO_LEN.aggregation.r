dtrace: failed to compile script err.D_PROTO_LEN.aggregation.d: [D_PROTO_LEN] line 1: @a[ ] prototype mismatch: 1 key passed, 0 expected
err.D_PROTO_LEN.aggregation.d:1:23: [D_PROTO_LEN]
    BEGIN { @a = count(); @a[1] = count(); }
                          ^^^^^
