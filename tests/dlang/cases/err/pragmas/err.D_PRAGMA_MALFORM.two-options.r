dtrace: failed to compile script err.D_PRAGMA_MALFORM.two-options.d: [D_PRAGMA_MALFORM] line 1: superfluous arguments specified for #pragma option
err.D_PRAGMA_MALFORM.two-options.d:1:1: [D_PRAGMA_MALFORM]
    #pragma D option quiet destructive
    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
hint: one option a line, without spaces around =
