dtrace: failed to compile script err.D_AGG_COMM.count.d: [D_AGG_COMM] line 1: aggregating actions may not follow commit( )
err.D_AGG_COMM.count.d:1:20: [D_AGG_COMM]
    BEGIN { commit(1); @ = count(); }
                       ^^^^^^^^^^^
