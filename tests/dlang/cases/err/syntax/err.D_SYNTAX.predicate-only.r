dtrace: failed to compile script err.D_SYNTAX.predicate-only.d: [D_SYNTAX] line 2: expected actions { } following probe description and predicate
err.D_SYNTAX.predicate-only.d:2:2: [D_SYNTAX]
    /pid == 1/;
     ^^^^^^^^
