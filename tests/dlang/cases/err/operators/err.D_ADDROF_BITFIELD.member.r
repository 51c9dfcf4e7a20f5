dtrace: failed to compile script err.D_ADDROF_BITFIELD.member.d: [D_ADDROF_BITFIELD] line 2: cannot take address of bit-field
err.D_ADDROF_BITFIELD.member.d:2:13: [D_ADDROF_BITFIELD]
    BEGIN { p = &x.a; }
                ^^^^
