dtrace: failed to compile script err.D_SPEC_SPEC.twice.d: [D_SPEC_SPEC] line 1: speculate( ) may not follow speculate( )
err.D_SPEC_SPEC.twice.d:1:23: [D_SPEC_SPEC]
    BEGIN { speculate(1); speculate(1); }
                          ^^^^^^^^^^^^
