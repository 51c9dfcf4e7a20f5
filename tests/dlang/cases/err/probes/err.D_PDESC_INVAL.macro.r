dtrace: failed to compile script err.D_PDESC_INVAL.macro.d: [D_PDESC_INVAL] line 1: invalid probe description "pyusdt$nosuch:::user_trace-s1": Undefined macro variable in probe description
err.D_PDESC_INVAL.macro.d:1:1: [D_PDESC_INVAL]
    pyusdt$nosuch:::user_trace-s1 { trace(1); }
    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
