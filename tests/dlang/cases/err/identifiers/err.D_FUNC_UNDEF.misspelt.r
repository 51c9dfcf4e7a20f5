dtrace: failed to compile script err.D_FUNC_UNDEF.misspelt.d: [D_FUNC_UNDEF] line 1: undefined function name: pritnf
err.D_FUNC_UNDEF.misspelt.d:1:9: [D_FUNC_UNDEF]
    BEGIN { pritnf("x"); }
            ^^^^^^^^^^^
hint: did you mean printf?
