dtrace: failed to compile script err.D_UNSUPPORTED.symbol.d: [D_UNSUPPORTED] line 1: kernel and user symbols (module`name) are not supported
err.D_UNSUPPORTED.symbol.d:1:15: [D_UNSUPPORTED]
    BEGIN { trace(`max_pfn); }
                  ^^^^^^^^
