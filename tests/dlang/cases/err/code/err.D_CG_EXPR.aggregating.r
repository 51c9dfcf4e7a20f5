dtrace: failed to compile script err.D_CG_EXPR.aggregating.d: [D_CG_EXPR] line 1: aggregating function count( ) may not be called from a D expression (D program context required)
err.D_CG_EXPR.aggregating.d:1:9: [D_CG_EXPR]
    BEGIN { count(); }
            ^^^^^^^
hint: aggregate into a variable: @name = count(…)
