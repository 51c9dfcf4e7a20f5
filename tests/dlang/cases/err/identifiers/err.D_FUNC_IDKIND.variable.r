dtrace: failed to compile script err.D_FUNC_IDKIND.variable.d: [D_FUNC_IDKIND] line 1: scalar 'pid' may not be referenced as a function
err.D_FUNC_IDKIND.variable.d:1:15: [D_FUNC_IDKIND]
    BEGIN { trace(pid()); }
                  ^^^^^
