dtrace: failed to compile script err.D_PROTO_LEN.optional.d: [D_PROTO_LEN] line 1: copyinstr( ) prototype mismatch: 3 args passed, at most 2 expected
err.D_PROTO_LEN.optional.d:1:15: [D_PROTO_LEN]
    BEGIN { trace(copyinstr(1, 2, 3)); }
                  ^^^^^^^^^^^^^^^^^^
hint: it is copyinstr(uintptr_t, [size_t])
