dtrace: failed to compile script err.D_PROTO_LEN.argument.d: [D_PROTO_LEN] line 1: trace( ) prototype mismatch: 0 args passed, 1 expected
err.D_PROTO_LEN.argument.d:1:9: [D_PROTO_LEN]
    BEGIN { trace(); }
            ^^^^^^^
hint: trace() takes one value; printf("…", …) takes a format
