dtrace: failed to compile script err.D_STRINGOF_TYPE.struct.d: [D_STRINGOF_TYPE] line 2: cannot apply stringof to a value of type struct s
err.D_STRINGOF_TYPE.struct.d:2:15: [D_STRINGOF_TYPE]
    BEGIN { trace(stringof(x)); }
                  ^^^^^^^^^^^
