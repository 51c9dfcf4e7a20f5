BEGIN { print((struct bpf_raw_tracepoint_args *)alloca(4)); }
