dtrace: failed to compile script err.D_DECL_COMBO.two.d: [D_DECL_COMBO] line 1: invalid type combination
err.D_DECL_COMBO.two.d:1:5: [D_DECL_COMBO]
    int char c;
        ^^^^
hint: only one type may be named
