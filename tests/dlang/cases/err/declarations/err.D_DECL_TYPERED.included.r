dtrace: failed to compile script err.D_DECL_TYPERED.included.d: [D_DECL_TYPERED] "x.h", line 3: type redeclared: struct s
x.h:3:1: [D_DECL_TYPERED]
    struct s { int a; };
    ^^^^^^^^
hint: choose another name, or leave this one out
