dtrace: failed to compile script err.D_DECL_VOIDOBJ.void.d: [D_DECL_VOIDOBJ] line 1: cannot have void object: x
err.D_DECL_VOIDOBJ.void.d:1:1: [D_DECL_VOIDOBJ]
    void x;
    ^^^^^^
