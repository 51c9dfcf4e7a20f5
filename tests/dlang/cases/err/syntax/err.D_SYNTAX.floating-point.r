dtrace: failed to compile script err.D_SYNTAX.floating-point.d: [D_SYNTAX] line 1: floating-point constants are not permitted
err.D_SYNTAX.floating-point.d:1:15: [D_SYNTAX]
    BEGIN { trace(1.5); }
                  ^^^
hint: D calculates with integers; -x pyusdt adds doubles
