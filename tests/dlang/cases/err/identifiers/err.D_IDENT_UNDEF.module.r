dtrace: failed to compile script err.D_IDENT_UNDEF.module.d: [D_IDENT_UNDEF] line 1: failed to resolve no_such_module`x: Module is no longer loaded
err.D_IDENT_UNDEF.module.d:1:9: [D_IDENT_UNDEF]
    BEGIN { no_such_module`x[1] = 2; }
            ^^^^^^^^^^^^^^^^
hint: symbols of the kernel and of programs have no values here; sym(), usym() and uaddr() give the names of addresses
