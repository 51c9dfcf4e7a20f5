dtrace: failed to compile script err.D_CG_EXPR.action.d: [D_CG_EXPR] line 1: tracing function printf( ) may not be called from a D expression (D program context required)
err.D_CG_EXPR.action.d:1:15: [D_CG_EXPR]
    BEGIN { (void)printf("x"); }
                  ^^^^^^^^^^^
hint: an action is a statement of its own
