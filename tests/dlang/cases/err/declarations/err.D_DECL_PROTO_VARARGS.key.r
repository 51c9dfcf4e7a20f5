dtrace: failed to compile script err.D_DECL_PROTO_VARARGS.key.d: [D_DECL_PROTO_VARARGS] line 1: array prototype may not use a variable-length argument list
err.D_DECL_PROTO_VARARGS.key.d:1:12: [D_DECL_PROTO_VARARGS]
    int a[int, ...];
               ^^^
