dtrace: failed to compile script err.D_OFFSETOF_TYPE.int.d: [D_OFFSETOF_TYPE] line 1: offsetof operand must be a struct or union type
err.D_OFFSETOF_TYPE.int.d:1:15: [D_OFFSETOF_TYPE]
    BEGIN { trace(offsetof(int, x)); }
                  ^^^^^^^^^^^^^^^^
