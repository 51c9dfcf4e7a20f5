dtrace: failed to compile script err.D_DREC_COMM.trace.d: [D_DREC_COMM] line 1: data-recording actions may not follow commit( )
err.D_DREC_COMM.trace.d:1:20: [D_DREC_COMM]
    BEGIN { commit(1); trace(1); }
                       ^^^^^^^^
