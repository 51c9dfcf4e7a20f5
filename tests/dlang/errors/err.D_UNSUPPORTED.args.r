dtrace: failed to compile script err.D_UNSUPPORTED.args.d: [D_UNSUPPORTED] line 1: args[] is not supported yet
err.D_UNSUPPORTED.args.d:1:15: [D_UNSUPPORTED]
    BEGIN { trace(args[0]); }
                  ^^^^
hint: arg0 … arg9 are the probe's arguments
