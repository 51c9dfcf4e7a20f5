dtrace: failed to compile script err.D_AGG_MDIM.two-indexes.d: [D_AGG_MDIM] line 1: improper attempt to reference @a as a multi-dimensional array
err.D_AGG_MDIM.two-indexes.d:1:9: [D_AGG_MDIM]
    BEGIN { @a[1][2] = count(); }
            ^^^^^^^^
hint: several keys are one tuple: @name[a, b]
