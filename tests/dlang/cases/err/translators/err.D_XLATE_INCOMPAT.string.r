dtrace: failed to compile script err.D_XLATE_INCOMPAT.string.d: [D_XLATE_INCOMPAT] line 4: translator member a definition uses incompatible types: "string" = "int"
err.D_XLATE_INCOMPAT.string.d:2:1: [D_XLATE_INCOMPAT]
    translator struct o <int v> {
    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
