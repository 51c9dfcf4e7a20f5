dtrace: failed to compile script err.D_DECL_PROTO_NAME.void.d: [D_DECL_PROTO_NAME] line 1: void parameter may not have a name: v
err.D_DECL_PROTO_NAME.void.d:1:14: [D_DECL_PROTO_NAME]
    extern int f(void v);
                 ^^^^^^
