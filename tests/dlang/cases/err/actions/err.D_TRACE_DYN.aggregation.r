dtrace: failed to compile script err.D_TRACE_DYN.aggregation.d: [D_TRACE_DYN] line 1: trace( ) may not be applied to a dynamic expression
err.D_TRACE_DYN.aggregation.d:1:29: [D_TRACE_DYN]
    BEGIN { @a = count(); trace(@a); }
                                ^^
hint: printa() prints an aggregation
