dtrace: failed to compile script err.D_DECL_DYNOBJ.member.d: [D_DECL_DYNOBJ] line 1: cannot have dynamic member: a
err.D_DECL_DYNOBJ.member.d:1:16: [D_DECL_DYNOBJ]
    struct s { int a[string]; };
                   ^^^^^^^^^
