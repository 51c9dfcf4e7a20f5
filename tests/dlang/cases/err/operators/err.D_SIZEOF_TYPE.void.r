dtrace: failed to compile script err.D_SIZEOF_TYPE.void.d: [D_SIZEOF_TYPE] line 1: cannot apply sizeof to an operand of unknown size
err.D_SIZEOF_TYPE.void.d:1:15: [D_SIZEOF_TYPE]
    BEGIN { trace(sizeof (void)); }
                  ^^^^^^^^^^^^^
