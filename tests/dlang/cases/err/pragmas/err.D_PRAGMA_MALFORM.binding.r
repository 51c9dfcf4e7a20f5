dtrace: failed to compile script err.D_PRAGMA_MALFORM.binding.d: [D_PRAGMA_MALFORM] line 1: malformed #pragma binding "version" <ident>
err.D_PRAGMA_MALFORM.binding.d:1:1: [D_PRAGMA_MALFORM]
    #pragma D binding 1.0 x
    ^^^^^^^^^^^^^^^^^^^^^^^
