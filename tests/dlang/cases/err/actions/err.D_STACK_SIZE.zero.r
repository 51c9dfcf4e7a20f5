dtrace: failed to compile script err.D_STACK_SIZE.zero.d: [D_STACK_SIZE] line 1: stack( ) argument #1 must be a non-zero positive integer constant
err.D_STACK_SIZE.zero.d:1:9: [D_STACK_SIZE]
    BEGIN { stack(0); }
            ^^^^^^^^
