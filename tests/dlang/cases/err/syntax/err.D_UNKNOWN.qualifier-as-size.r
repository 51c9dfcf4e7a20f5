dtrace: failed to compile script err.D_UNKNOWN.qualifier-as-size.d: [D_UNKNOWN] line 2: failed to resolve type : Unknown type name
err.D_UNKNOWN.qualifier-as-size.d:2:29: [D_UNKNOWN]
    int order(char *const words[restrict]);
                                ^^^^^^^^
hint: the word behind restrict is not a known type
