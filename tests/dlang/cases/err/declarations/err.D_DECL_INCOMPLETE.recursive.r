dtrace: failed to compile script err.D_DECL_INCOMPLETE.recursive.d: [D_DECL_INCOMPLETE] line 1: incomplete struct/union/enum struct zork: inside
err.D_DECL_INCOMPLETE.recursive.d:1:27: [D_DECL_INCOMPLETE]
    struct zork { struct zork inside; };
                              ^^^^^^
hint: define struct zork with its members before this line
