dtrace: failed to compile script err.D_TRACE_VOID.void.d: [D_TRACE_VOID] line 1: trace( ) may not be applied to a void expression
err.D_TRACE_VOID.void.d:1:15: [D_TRACE_VOID]
    BEGIN { trace((void)1); }
                  ^^^^^^^
