dtrace: failed to compile script err.D_UNKNOWN.member-twice.d: [D_UNKNOWN] line 1: failed to define member 'a': Duplicate member, enumerator, or variable name.
err.D_UNKNOWN.member-twice.d:1:24: [D_UNKNOWN]
    struct s { int a; char a; };
                           ^
