dtrace: failed to compile script err.D_OP_VFPTR.void-pointer.d: [D_OP_VFPTR] line 2: operator ++ requires an operand of known size
err.D_OP_VFPTR.void-pointer.d:2:9: [D_OP_VFPTR]
    BEGIN { p++; }
            ^^^
