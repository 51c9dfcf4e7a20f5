dtrace: failed to compile script err.D_XLATE_NONE.xlate.d: [D_XLATE_NONE] line 1: cannot translate from "int64_t" to "struct point *"
err.D_XLATE_NONE.xlate.d:1:15: [D_XLATE_NONE]
    BEGIN { trace(xlate <struct point *> (arg0)); }
                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
hint: no translator has this output type
