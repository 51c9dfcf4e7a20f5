dtrace: failed to compile script err.D_DECL_BADCLASS.inline.d: [D_DECL_BADCLASS] line 1: specified storage class not appropriate for inline declaration
err.D_DECL_BADCLASS.inline.d:1:1: [D_DECL_BADCLASS]
    inline static int x = nosuch;
    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
