dtrace: failed to compile script err.D_OP_ARRFUN.array.d: [D_OP_ARRFUN] line 2: operator = may not be applied to operand of type "int [3]"
err.D_OP_ARRFUN.array.d:2:9: [D_OP_ARRFUN]
    BEGIN { a = b; }
            ^^^^^
hint: assign its elements
