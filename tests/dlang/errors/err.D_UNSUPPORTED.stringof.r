dtrace: failed to compile script err.D_UNSUPPORTED.stringof.d: [D_UNSUPPORTED] line 1: stringof() of an address is not supported yet
err.D_UNSUPPORTED.stringof.d:1:15: [D_UNSUPPORTED]
    BEGIN { trace(stringof(arg0)); }
                  ^^^^^^^^^^^^^^
hint: copyinstr(address) reads a string of the process
