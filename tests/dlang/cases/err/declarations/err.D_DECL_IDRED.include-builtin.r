dtrace: failed to compile script err.D_DECL_IDRED.include-builtin.d: [D_DECL_IDRED] "x.h", line 1: built-in identifier redeclared: pid
x.h:1:1: [D_DECL_IDRED]
    int pid;
    ^^^^^^^
hint: choose another name
