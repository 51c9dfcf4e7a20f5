dtrace: failed to compile script err.D_UNSUPPORTED.xlate.d: [D_UNSUPPORTED] line 1: translators are not supported yet
err.D_UNSUPPORTED.xlate.d:1:15: [D_UNSUPPORTED]
    BEGIN { trace(xlate <struct point *> (arg0)); }
                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
