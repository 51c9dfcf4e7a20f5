dtrace: failed to compile script err.D_DECL_ARRNULL.empty.d: [D_DECL_ARRNULL] line 1: array declaration requires array dimension or tuple signature: a
err.D_DECL_ARRNULL.empty.d:1:1: [D_DECL_ARRNULL]
    int a[];
    ^^^^^^^
