dtrace: failed to compile script err.D_VAR_UNDEF.array.d: [D_VAR_UNDEF] line 1: a has not yet been declared or assigned
err.D_VAR_UNDEF.array.d:1:15: [D_VAR_UNDEF]
    BEGIN { trace(a[1]); }
                  ^^^^
hint: declare it, or assign it in a clause before this one (a = …)
