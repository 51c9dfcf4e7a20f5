dtrace: failed to compile script err.D_IDENT_UNDEF.kernel-symbol.d: [D_IDENT_UNDEF] line 1: failed to resolve vmlinux`no_such_symbol: Unknown symbol name
err.D_IDENT_UNDEF.kernel-symbol.d:1:15: [D_IDENT_UNDEF]
    BEGIN { trace(vmlinux`no_such_symbol); }
                  ^^^^^^^^^^^^^^^^^^^^^^
hint: symbols of the kernel and of programs have no values here; sym(), usym() and uaddr() give the names of addresses
