dtrace: failed to compile script err.D_XLATE_SOU.translator.d: [D_XLATE_SOU] line 4: incomplete struct/union/enum struct point
err.D_XLATE_SOU.translator.d:1:1: [D_XLATE_SOU]
    translator struct point <int n> {
    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
