dtrace: failed to compile script err.D_UNSUPPORTED.float.d: [D_UNSUPPORTED] line 2: values of type double are not supported
err.D_UNSUPPORTED.float.d:2:15: [D_UNSUPPORTED]
    BEGIN { trace(d); }
                  ^
