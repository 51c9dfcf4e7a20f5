dtrace: failed to compile script err.D_SIZEOF_BITFIELD.member.d: [D_SIZEOF_BITFIELD] line 2: cannot apply sizeof to a bit-field
err.D_SIZEOF_BITFIELD.member.d:2:15: [D_SIZEOF_BITFIELD]
    BEGIN { trace(sizeof (x.a)); }
                  ^^^^^^^^^^^^
