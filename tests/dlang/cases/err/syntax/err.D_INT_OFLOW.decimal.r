dtrace: failed to compile script err.D_INT_OFLOW.decimal.d: [D_INT_OFLOW] line 1: constant 18446744073709551616 results in integer overflow
err.D_INT_OFLOW.decimal.d:1:15: [D_INT_OFLOW]
    BEGIN { trace(18446744073709551616); }
                  ^^^^^^^^^^^^^^^^^^^^
hint: the largest integer is 18446744073709551615
