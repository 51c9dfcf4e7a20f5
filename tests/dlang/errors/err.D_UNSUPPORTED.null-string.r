dtrace: failed to compile script err.D_UNSUPPORTED.null-string.d: [D_UNSUPPORTED] line 2: comparing a string with 0 is not supported yet
err.D_UNSUPPORTED.null-string.d:2:2: [D_UNSUPPORTED]
    /execname == 0/
     ^^^^^^^^^^^^^
hint: compare it with ""
