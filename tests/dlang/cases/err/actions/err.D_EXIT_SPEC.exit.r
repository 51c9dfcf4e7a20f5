dtrace: failed to compile script err.D_EXIT_SPEC.exit.d: [D_EXIT_SPEC] line 1: exit( ) may not follow speculate( )
err.D_EXIT_SPEC.exit.d:1:23: [D_EXIT_SPEC]
    BEGIN { speculate(1); exit(0); }
                          ^^^^^^^
