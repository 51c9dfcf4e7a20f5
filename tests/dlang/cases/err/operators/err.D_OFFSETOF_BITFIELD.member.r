dtrace: failed to compile script err.D_OFFSETOF_BITFIELD.member.d: [D_OFFSETOF_BITFIELD] line 2: cannot take offset of a bit-field: a
err.D_OFFSETOF_BITFIELD.member.d:2:15: [D_OFFSETOF_BITFIELD]
    BEGIN { trace(offsetof(struct s, a)); }
                  ^^^^^^^^^^^^^^^^^^^^^
