dtrace: failed to compile script err.D_OP_SOU.dot.d: [D_OP_SOU] line 1: operator . cannot be applied to type "int"; must be applied to a struct or union
err.D_OP_SOU.dot.d:1:22: [D_OP_SOU]
    BEGIN { x = 1; trace(x.y); }
                         ^^^
