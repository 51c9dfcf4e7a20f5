dtrace: failed to compile script err.D_IDENT_UNDEF.scoped-symbol.d: [D_IDENT_UNDEF] line 1: failed to resolve a`b: Unknown variable name
err.D_IDENT_UNDEF.scoped-symbol.d:1:15: [D_IDENT_UNDEF]
    BEGIN { trace(self->a`b); }
                  ^^^^^^^^^
hint: symbols of the kernel and of programs have no values here; sym(), usym() and uaddr() give the names of addresses
