dtrace: failed to compile script err.D_IDENT_UNDEF.symbol.d: [D_IDENT_UNDEF] line 1: failed to resolve `no_such_symbol: Unknown symbol name
err.D_IDENT_UNDEF.symbol.d:1:15: [D_IDENT_UNDEF]
    BEGIN { trace(`no_such_symbol); }
                  ^^^^^^^^^^^^^^^
hint: symbols of the kernel and of programs have no values here; sym(), usym() and uaddr() give the names of addresses
