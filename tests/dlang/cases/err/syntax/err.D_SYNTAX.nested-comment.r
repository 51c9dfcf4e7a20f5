dtrace: failed to compile script err.D_SYNTAX.nested-comment.d: [D_SYNTAX] line 1: /* encountered inside a comment
err.D_SYNTAX.nested-comment.d:1:8: [D_SYNTAX]
    /* one /* two */ */
           ^^
hint: comments do not nest
