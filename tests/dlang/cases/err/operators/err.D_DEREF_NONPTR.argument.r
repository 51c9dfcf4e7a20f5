dtrace: failed to compile script err.D_DEREF_NONPTR.argument.d: [D_DEREF_NONPTR] line 1: cannot dereference non-pointer type
err.D_DEREF_NONPTR.argument.d:1:15: [D_DEREF_NONPTR]
    BEGIN { trace(*arg0); }
                  ^^^^^
hint: copyinstr(address) reads a string of the process
