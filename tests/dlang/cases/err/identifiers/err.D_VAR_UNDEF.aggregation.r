dtrace: failed to compile script err.D_VAR_UNDEF.aggregation.d: [D_VAR_UNDEF] line 1: @a has not yet been declared or assigned
err.D_VAR_UNDEF.aggregation.d:1:9: [D_VAR_UNDEF]
    BEGIN { @a += sum(1); }
            ^^^^^^^^^^^^
hint: aggregations are assigned: @a = sum(…)
