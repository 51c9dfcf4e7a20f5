dtrace: failed to compile script err.D_ARGS_NONE.inline.d: [D_ARGS_NONE] line 1: args[ ] may not be referenced outside of a probe clause
err.D_ARGS_NONE.inline.d:1:20: [D_ARGS_NONE]
    inline int first = args[0];
                       ^^^^^^^
