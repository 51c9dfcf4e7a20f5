dtrace: failed to compile script err.D_COMM_DREC.trace.d: [D_COMM_DREC] line 1: commit( ) may not follow data-recording action(s)
err.D_COMM_DREC.trace.d:1:19: [D_COMM_DREC]
    BEGIN { trace(1); commit(1); }
                      ^^^^^^^^^
