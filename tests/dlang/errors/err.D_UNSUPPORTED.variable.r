dtrace: failed to compile script err.D_UNSUPPORTED.variable.d: [D_UNSUPPORTED] line 1: the variable vtimestamp is not supported yet
err.D_UNSUPPORTED.variable.d:1:15: [D_UNSUPPORTED]
    BEGIN { trace(vtimestamp); }
                  ^^^^^^^^^^
