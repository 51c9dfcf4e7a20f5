dtrace: failed to compile script err.D_XLATE_SOU.int.d: [D_XLATE_SOU] line 1: translator output type must be a struct or union
err.D_XLATE_SOU.int.d:1:1: [D_XLATE_SOU]
    translator int <int v> { a = v; };
    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
