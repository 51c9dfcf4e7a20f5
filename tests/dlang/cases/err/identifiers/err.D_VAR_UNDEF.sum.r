dtrace: failed to compile script err.D_VAR_UNDEF.sum.d: [D_VAR_UNDEF] line 1: total has not yet been declared or assigned
err.D_VAR_UNDEF.sum.d:1:9: [D_VAR_UNDEF]
    BEGIN { total += arg0; }
            ^^^^^
hint: declare it, or assign it in a clause before this one (total = …)
