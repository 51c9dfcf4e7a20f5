dtrace: failed to compile script err.D_UNSUPPORTED.subroutine.d: [D_UNSUPPORTED] line 1: the function strlen() is not supported yet
err.D_UNSUPPORTED.subroutine.d:1:15: [D_UNSUPPORTED]
    BEGIN { trace(strlen(execname)); }
                  ^^^^^^^^^^^^^^^^
