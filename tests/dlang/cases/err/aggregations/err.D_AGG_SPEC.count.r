dtrace: failed to compile script err.D_AGG_SPEC.count.d: [D_AGG_SPEC] line 1: aggregating actions may not follow speculate( )
err.D_AGG_SPEC.count.d:1:23: [D_AGG_SPEC]
    BEGIN { speculate(1); @ = count(); }
                          ^^^^^^^^^^^
