dtrace: failed to compile script err.D_SYNTAX.type-as-value.d: [D_SYNTAX] line 1: syntax error near "uint64_t); }"
err.D_SYNTAX.type-as-value.d:1:15: [D_SYNTAX]
    BEGIN { trace(uint64_t); }
                  ^^^^^^^^
hint: uint64_t is a type
