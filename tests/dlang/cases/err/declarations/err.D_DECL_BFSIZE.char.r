dtrace: failed to compile script err.D_DECL_BFSIZE.char.d: [D_DECL_BFSIZE] line 1: bit-field too big for type: a
err.D_DECL_BFSIZE.char.d:1:17: [D_DECL_BFSIZE]
    struct s { char a : 9; };
                    ^^^^^
