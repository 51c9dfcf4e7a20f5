dtrace: failed to compile script err.D_UNSUPPORTED.action.d: [D_UNSUPPORTED] line 1: chill() is not supported: the firing process does not wait for D
err.D_UNSUPPORTED.action.d:1:9: [D_UNSUPPORTED]
    BEGIN { chill(1); }
            ^^^^^^^^
