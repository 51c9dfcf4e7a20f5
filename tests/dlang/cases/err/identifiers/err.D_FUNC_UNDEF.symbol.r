dtrace: failed to compile script err.D_FUNC_UNDEF.symbol.d: [D_FUNC_UNDEF] line 1: undefined function name: a`f
err.D_FUNC_UNDEF.symbol.d:1:9: [D_FUNC_UNDEF]
    BEGIN { a`f(1); }
            ^^^^^^
