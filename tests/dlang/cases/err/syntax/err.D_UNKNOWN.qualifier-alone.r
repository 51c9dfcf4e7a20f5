dtrace: failed to compile script err.D_UNKNOWN.qualifier-alone.d: [D_UNKNOWN] line 1: failed to resolve type : Unknown type name
err.D_UNKNOWN.qualifier-alone.d:1:1: [D_UNKNOWN]
    const route;
    ^^^^^^^^^^^
hint: the word behind const is not a known type
