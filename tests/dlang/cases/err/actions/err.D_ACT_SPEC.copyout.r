dtrace: failed to compile script err.D_ACT_SPEC.copyout.d: [D_ACT_SPEC] line 1: destructive actions may not follow speculate( )
err.D_ACT_SPEC.copyout.d:1:32: [D_ACT_SPEC]
    BEGIN { speculate(1); x = 1 ? (copyout(alloca(4), 0x1000, 4), 2) : 3; }
                                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
