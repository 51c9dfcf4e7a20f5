dtrace: failed to compile script err.D_SPEC_DREC.trace.d: [D_SPEC_DREC] line 1: speculate( ) may not follow data-recording action(s)
err.D_SPEC_DREC.trace.d:1:19: [D_SPEC_DREC]
    BEGIN { trace(1); speculate(1); }
                      ^^^^^^^^^^^^
