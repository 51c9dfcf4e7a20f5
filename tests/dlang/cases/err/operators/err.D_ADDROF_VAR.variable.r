dtrace: failed to compile script err.D_ADDROF_VAR.variable.d: [D_ADDROF_VAR] line 1: cannot take address of dynamic variable
err.D_ADDROF_VAR.variable.d:1:20: [D_ADDROF_VAR]
    BEGIN { x = 1; y = &x; }
                       ^^
