dtrace: failed to compile script err.D_DECL_COMBO.no-semicolon.d: [D_DECL_COMBO] line 2: invalid type combination
err.D_DECL_COMBO.no-semicolon.d:2:1: [D_DECL_COMBO]
    struct b { int y; };
    ^^^^^^
hint: a ; is missing after the }
