dtrace: failed to compile script err.D_EMPTY.pragma.d: [D_EMPTY] line 2: empty D program translation unit
err.D_EMPTY.pragma.d:1:23: [D_EMPTY]
    #pragma D option quiet
                          ^
hint: a program has at least one clause
