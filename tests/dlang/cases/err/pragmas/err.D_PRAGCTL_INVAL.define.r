dtrace: failed to compile script err.D_PRAGCTL_INVAL.define.d: [D_PRAGCTL_INVAL] line 1: invalid control directive: #define
err.D_PRAGCTL_INVAL.define.d:1:1: [D_PRAGCTL_INVAL]
    #define LIMIT 10
    ^^^^^^^^^^^^^^^^
hint: this is for the C preprocessor: run with -C
