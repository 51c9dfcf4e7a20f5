dtrace: failed to compile script err.D_AGG_NULL.alone.d: [D_AGG_NULL] line 1: expression has null effect: @a
err.D_AGG_NULL.alone.d:1:9: [D_AGG_NULL]
    BEGIN { @a[execname]; }
            ^^^^^^^^^^^^
hint: assign it: @a = count();
