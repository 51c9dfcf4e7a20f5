dtrace: failed to compile script err.D_INT_OFLOW.no-type.d: [D_INT_OFLOW] line 1: integer constant 0x8000000000000000 cannot be represented in any built-in integral type
err.D_INT_OFLOW.no-type.d:1:15: [D_INT_OFLOW]
    BEGIN { trace(9223372036854775808); }
                  ^^^^^^^^^^^^^^^^^^^
hint: append u to make it unsigned
