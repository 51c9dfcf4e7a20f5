dtrace: failed to compile script err.D_ACT_SPEC.system.d: [D_ACT_SPEC] line 1: destructive actions may not follow speculate( )
err.D_ACT_SPEC.system.d:1:23: [D_ACT_SPEC]
    BEGIN { speculate(1); system("true"); }
                          ^^^^^^^^^^^^^^
