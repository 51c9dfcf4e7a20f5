dtrace: failed to compile script err.D_UNSUPPORTED.variable.d: [D_UNSUPPORTED] line 1: the variable vtimestamp is not supported
err.D_UNSUPPORTED.variable.d:1:15: [D_UNSUPPORTED]
    BEGIN { trace(vtimestamp); }
                  ^^^^^^^^^^
hint: dtrace 2.0 accepts the name and then refuses it as "not implemented"
