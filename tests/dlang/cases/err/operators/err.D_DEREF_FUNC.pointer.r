dtrace: failed to compile script err.D_DEREF_FUNC.pointer.d: [D_DEREF_FUNC] line 2: cannot dereference pointer to function
err.D_DEREF_FUNC.pointer.d:2:9: [D_DEREF_FUNC]
    BEGIN { *f; }
            ^^
