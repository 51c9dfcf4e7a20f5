dtrace: failed to compile script err.D_ARGS_IDX.begin.d: [D_ARGS_IDX] line 1: index 0 is out of range for :::BEGIN args[ ]
err.D_ARGS_IDX.begin.d:1:15: [D_ARGS_IDX]
    BEGIN { trace(args[0]); }
                  ^^^^^^^
hint: it has no arguments
