dtrace: failed to compile script err.D_XLATE_NONE.type.d: [D_XLATE_NONE] line 3: cannot translate from "int" to "struct o"
err.D_XLATE_NONE.type.d:3:15: [D_XLATE_NONE]
    BEGIN { trace(xlate <struct o> (1).a); }
                  ^^^^^^^^^^^^^^^^^^^^
hint: it is translated from "char *"
