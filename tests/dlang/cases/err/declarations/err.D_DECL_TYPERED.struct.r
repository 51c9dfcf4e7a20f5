dtrace: failed to compile script err.D_DECL_TYPERED.struct.d: [D_DECL_TYPERED] line 2: type redeclared: struct s
err.D_DECL_TYPERED.struct.d:2:1: [D_DECL_TYPERED]
    struct s { int b; };
    ^^^^^^^^
hint: choose another name, or leave this one out
