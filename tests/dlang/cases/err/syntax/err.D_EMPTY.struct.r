dtrace: failed to compile script err.D_EMPTY.struct.d: [D_EMPTY] line 1: empty D program translation unit
err.D_EMPTY.struct.d:1:9: [D_EMPTY]
    struct s;
            ^
hint: a program has at least one clause
