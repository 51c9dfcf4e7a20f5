dtrace: failed to compile script err.D_IDENT_UNDEF.scope.d: [D_IDENT_UNDEF] line 2: failed to resolve start: Unknown variable name
err.D_IDENT_UNDEF.scope.d:2:25: [D_IDENT_UNDEF]
    END { trace(timestamp - start); }
                            ^^^^^
hint: did you mean self->start?
