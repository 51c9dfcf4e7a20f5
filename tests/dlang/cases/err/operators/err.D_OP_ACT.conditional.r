dtrace: failed to compile script err.D_OP_ACT.conditional.d: [D_OP_ACT] line 1: action cannot be used in a conditional context
err.D_OP_ACT.conditional.d:1:9: [D_OP_ACT]
    BEGIN { pid ? trace(1) : trace(2); }
            ^^^^^^^^^^^^^^^^^^^^^^^^^
hint: put the condition into the clause's predicate
