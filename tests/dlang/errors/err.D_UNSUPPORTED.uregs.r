dtrace: failed to compile script err.D_UNSUPPORTED.uregs.d: [D_UNSUPPORTED] line 1: uregs[] is not supported
err.D_UNSUPPORTED.uregs.d:1:15: [D_UNSUPPORTED]
    BEGIN { trace(uregs[0]); }
                  ^^^^^^^^
hint: an event carries the probe's arguments, arg0 … arg9, and no registers
