dtrace: failed to compile script err.D_UNKNOWN.qualifier-of-unknown-type.d: [D_UNKNOWN] line 1: failed to resolve type : Unknown type name
err.D_UNKNOWN.qualifier-of-unknown-type.d:1:11: [D_UNKNOWN]
    int order(const fruit_t *fruit, int many);
              ^^^^^^^^^^^^^
hint: the word behind const is not a known type
