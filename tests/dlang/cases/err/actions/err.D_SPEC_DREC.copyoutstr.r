dtrace: failed to compile script err.D_SPEC_DREC.copyoutstr.d: [D_SPEC_DREC] line 1: speculate( ) may not follow data-recording action(s)
err.D_SPEC_DREC.copyoutstr.d:1:39: [D_SPEC_DREC]
    BEGIN { copyoutstr("abc", 0x1000, 4); speculate(1); }
                                          ^^^^^^^^^^^^
