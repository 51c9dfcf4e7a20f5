dtrace: failed to compile script err.D_UNSUPPORTED.probe-id.d: [D_UNSUPPORTED] line 1: probe ids are not supported yet
err.D_UNSUPPORTED.probe-id.d:1:1: [D_UNSUPPORTED]
    1 { trace(1); }
    ^
hint: name the probe
