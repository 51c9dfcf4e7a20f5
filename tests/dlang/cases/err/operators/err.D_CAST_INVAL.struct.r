dtrace: failed to compile script err.D_CAST_INVAL.struct.d: [D_CAST_INVAL] line 2: invalid cast expression: "struct s" to "int"
err.D_CAST_INVAL.struct.d:2:15: [D_CAST_INVAL]
    BEGIN { trace((int)x); }
                  ^^^^^^
