dtrace: failed to compile script err.D_USTACK_STRSIZE.negative.d: [D_USTACK_STRSIZE] line 1: ustack( ) argument #2 must be a positive integer constant
err.D_USTACK_STRSIZE.negative.d:1:9: [D_USTACK_STRSIZE]
    BEGIN { ustack(1, -1); }
            ^^^^^^^^^^^^^
