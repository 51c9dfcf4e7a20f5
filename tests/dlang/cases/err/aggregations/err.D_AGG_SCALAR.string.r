dtrace: failed to compile script err.D_AGG_SCALAR.string.d: [D_AGG_SCALAR] line 1: sum( ) argument #1 must be of scalar type
err.D_AGG_SCALAR.string.d:1:14: [D_AGG_SCALAR]
    BEGIN { @a = sum(execname); }
                 ^^^^^^^^^^^^^
hint: aggregate a number; a string can be a key: @[s] = count()
