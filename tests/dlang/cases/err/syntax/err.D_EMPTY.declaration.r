dtrace: failed to compile script err.D_EMPTY.declaration.d: [D_EMPTY] line 1: empty D program translation unit
err.D_EMPTY.declaration.d:1:6: [D_EMPTY]
    int x;
         ^
hint: a program has at least one clause
