dtrace: failed to compile script err.D_DECL_BADCLASS.static.d: [D_DECL_BADCLASS] line 1: specified storage class not appropriate in D
err.D_DECL_BADCLASS.static.d:1:1: [D_DECL_BADCLASS]
    static int x;
    ^^^^^^^^^^^^
hint: D has global, self and this variables
