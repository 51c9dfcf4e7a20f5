dtrace: failed to compile script err.D_DECL_IDRED.builtin.d: [D_DECL_IDRED] line 1: built-in identifier redeclared: pid
err.D_DECL_IDRED.builtin.d:1:1: [D_DECL_IDRED]
    int pid;
    ^^^^^^^
hint: choose another name
