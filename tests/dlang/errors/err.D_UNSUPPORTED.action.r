dtrace: failed to compile script err.D_UNSUPPORTED.action.d: [D_UNSUPPORTED] line 1: the tracing function stack() is not supported yet
err.D_UNSUPPORTED.action.d:1:9: [D_UNSUPPORTED]
    BEGIN { stack(); }
            ^^^^^^^
