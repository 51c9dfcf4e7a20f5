dtrace: failed to compile script err.D_DECL_PROTO_VOID.second.d: [D_DECL_PROTO_VOID] line 1: void must be sole parameter
err.D_DECL_PROTO_VOID.second.d:1:1: [D_DECL_PROTO_VOID]
    extern int f(int, void);
    ^^^^^^^^^^^^^^^^^^^^^^^
