dtrace: failed to compile script err.D_OP_SCALAR.and-string.d: [D_OP_SCALAR] line 3: operator && requires operands of scalar type
err.D_OP_SCALAR.and-string.d:2:2: [D_OP_SCALAR]
    /pid && execname/
     ^^^^^^^^^^^^^^^
