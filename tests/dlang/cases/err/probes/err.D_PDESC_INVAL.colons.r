dtrace: failed to compile script err.D_PDESC_INVAL.colons.d: [D_PDESC_INVAL] line 1: invalid probe description "a:b:::e": Overspecified probe description
err.D_PDESC_INVAL.colons.d:1:1: [D_PDESC_INVAL]
    a:b:::e { trace(1); }
    ^^^^^^^
hint: a probe description has at most four parts, provider:module:function:name
