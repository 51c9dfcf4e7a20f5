dtrace: failed to compile script err.D_PDESC_INVAL.id.d: [D_PDESC_INVAL] line 1: invalid probe identifier 0: Unknown probe identifier
err.D_PDESC_INVAL.id.d:1:1: [D_PDESC_INVAL]
    0 { }
    ^
hint: pydtrace -l shows the ids that there are
