dtrace: failed to compile script err.D_REGS_IDX.negative.d: [D_REGS_IDX] line 1: index -1 is out of range for array uregs
err.D_REGS_IDX.negative.d:1:15: [D_REGS_IDX]
    BEGIN { trace(uregs[-1]); }
                  ^^^^^^^^^
