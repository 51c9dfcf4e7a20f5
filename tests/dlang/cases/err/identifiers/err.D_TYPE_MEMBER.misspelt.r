dtrace: failed to compile script err.D_TYPE_MEMBER.misspelt.d: [D_TYPE_MEMBER] line 2: cuont is not a member of struct s
err.D_TYPE_MEMBER.misspelt.d:2:9: [D_TYPE_MEMBER]
    BEGIN { x.cuont = 1; }
            ^^^^^^^
hint: did you mean count?
