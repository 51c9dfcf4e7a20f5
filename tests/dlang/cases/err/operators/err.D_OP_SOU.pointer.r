dtrace: failed to compile script err.D_OP_SOU.pointer.d: [D_OP_SOU] line 2: operator . cannot be applied to type "struct s *"; must be applied to a struct or union
err.D_OP_SOU.pointer.d:2:9: [D_OP_SOU]
    BEGIN { p.a = 1; }
            ^^^
hint: -> takes a member of what a pointer points to
