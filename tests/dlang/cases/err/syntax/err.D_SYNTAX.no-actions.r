dtrace: failed to compile script err.D_SYNTAX.no-actions.d: [D_SYNTAX] line 1: expected predicate and/or actions following probe description
err.D_SYNTAX.no-actions.d:1:1: [D_SYNTAX]
    BEGIN
    ^^^^^
hint: add { } to trace it
