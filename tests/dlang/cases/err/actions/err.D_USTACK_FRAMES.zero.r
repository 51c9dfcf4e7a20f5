dtrace: failed to compile script err.D_USTACK_FRAMES.zero.d: [D_USTACK_FRAMES] line 1: ustack( ) argument #1 must be a non-zero positive integer constant
err.D_USTACK_FRAMES.zero.d:1:9: [D_USTACK_FRAMES]
    BEGIN { ustack(0, 200); }
            ^^^^^^^^^^^^^^
