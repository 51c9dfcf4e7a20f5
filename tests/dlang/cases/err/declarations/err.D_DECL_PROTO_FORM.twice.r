dtrace: failed to compile script err.D_DECL_PROTO_FORM.twice.d: [D_DECL_PROTO_FORM] line 1: parameter is already declared in function prototype: a, parameter #2
err.D_DECL_PROTO_FORM.twice.d:1:21: [D_DECL_PROTO_FORM]
    extern int f(int a, int a);
                        ^^^^^
