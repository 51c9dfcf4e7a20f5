dtrace: failed to compile script err.D_DECL_INCOMPLETE.variable.d: [D_DECL_INCOMPLETE] line 1: incomplete struct/union/enum struct zork: x
err.D_DECL_INCOMPLETE.variable.d:1:1: [D_DECL_INCOMPLETE]
    struct zork x;
    ^^^^^^^^^^^^^
hint: define struct zork with its members before this line
