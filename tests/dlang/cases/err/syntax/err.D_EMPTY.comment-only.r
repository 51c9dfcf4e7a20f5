dtrace: failed to compile script err.D_EMPTY.comment-only.d: [D_EMPTY] line 2: empty D program translation unit
err.D_EMPTY.comment-only.d:1:19: [D_EMPTY]
    /* nothing here */
                      ^
hint: a program has at least one clause
