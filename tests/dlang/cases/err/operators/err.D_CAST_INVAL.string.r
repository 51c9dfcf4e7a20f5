dtrace: failed to compile script err.D_CAST_INVAL.string.d: [D_CAST_INVAL] line 1: invalid cast expression: "string" to "int"
err.D_CAST_INVAL.string.d:1:15: [D_CAST_INVAL]
    BEGIN { trace((int)execname); }
                  ^^^^^^^^^^^^^
