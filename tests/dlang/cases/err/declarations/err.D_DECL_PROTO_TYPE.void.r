dtrace: failed to compile script err.D_DECL_PROTO_TYPE.void.d: [D_DECL_PROTO_TYPE] line 1: array prototype may not use parameter of type void: (anonymous), parameter #2
err.D_DECL_PROTO_TYPE.void.d:1:12: [D_DECL_PROTO_TYPE]
    int a[int, void];
               ^^^^
