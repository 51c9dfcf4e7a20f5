dtrace: failed to compile script err.D_DECL_TYPERED.include.d: [D_DECL_TYPERED] "script.d", line 3: type redeclared: struct s
script.d:3:1: [D_DECL_TYPERED]
    struct s { int a; };
    ^^^^^^^^
hint: choose another name, or leave this one out
