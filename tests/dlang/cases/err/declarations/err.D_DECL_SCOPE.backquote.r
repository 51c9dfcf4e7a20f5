dtrace: failed to compile script err.D_DECL_SCOPE.backquote.d: [D_DECL_SCOPE] line 1: D scoping operator may not be used in a declaration name (a`b)
err.D_DECL_SCOPE.backquote.d:1:1: [D_DECL_SCOPE]
    int a`b;
    ^^^^^^^
