dtrace: failed to compile script err.D_ARGS_XLATOR.none.d: [D_ARGS_XLATOR] line 3: translator for args[0] from int to struct big is not defined
err.D_ARGS_XLATOR.none.d:3:19: [D_ARGS_XLATOR]
    web*:::go { trace(args[0].a); }
                      ^^^^^^^
