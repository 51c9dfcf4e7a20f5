dtrace: failed to compile script err.D_XLATE_REDECL.twice.d: [D_XLATE_REDECL] line 3: translator from int to struct o has already been declared
err.D_XLATE_REDECL.twice.d:3:1: [D_XLATE_REDECL]
    translator struct o <int w> { a = w; };
    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
