dtrace: failed to compile script err.D_SPEC_COMM.speculate.d: [D_SPEC_COMM] line 1: speculate( ) may not follow commit( )
err.D_SPEC_COMM.speculate.d:1:20: [D_SPEC_COMM]
    BEGIN { commit(1); speculate(1); }
                       ^^^^^^^^^^^^
