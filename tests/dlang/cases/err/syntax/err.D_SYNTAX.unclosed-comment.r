dtrace: failed to compile script err.D_SYNTAX.unclosed-comment.d: [D_SYNTAX] line 3: end-of-file encountered before matching */
err.D_SYNTAX.unclosed-comment.d:1:19: [D_SYNTAX]
    BEGIN { trace(1); /* the end of it
                      ^^
hint: this comment is not closed
