dtrace: failed to compile script err.D_PRAGMA_MALFORM.line-file.d: [D_PRAGMA_MALFORM] line 2: malformed #line <line> [ ["file"] state ]
err.D_PRAGMA_MALFORM.line-file.d:1:1: [D_PRAGMA_MALFORM]
    # 7 f
    ^^^^^
