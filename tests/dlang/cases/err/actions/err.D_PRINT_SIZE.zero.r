dtrace: failed to compile script err.D_PRINT_SIZE.zero.d: [D_PRINT_SIZE] line 1: print( ) argument #1 reference has type 'struct bpf_raw_tracepoint_args' with size 0; cannot print( ) it.
err.D_PRINT_SIZE.zero.d:1:9: [D_PRINT_SIZE]
    BEGIN { print((struct bpf_raw_tracepoint_args *)alloca(4)); }
            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
