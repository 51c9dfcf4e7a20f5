dtrace: failed to compile script err.D_OP_SCALAR.not-string.d: [D_OP_SCALAR] line 1: operator ! requires an operand of scalar type
err.D_OP_SCALAR.not-string.d:1:15: [D_OP_SCALAR]
    BEGIN { trace(!execname); }
                  ^^^^^^^^^
hint: compare a string with "": (s == "")
