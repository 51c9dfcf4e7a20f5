dtrace: failed to compile script err.D_UNSUPPORTED.translator.d: [D_UNSUPPORTED] line 1: translators are not supported yet
err.D_UNSUPPORTED.translator.d:1:1: [D_UNSUPPORTED]
    translator struct point <int n> {
    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
