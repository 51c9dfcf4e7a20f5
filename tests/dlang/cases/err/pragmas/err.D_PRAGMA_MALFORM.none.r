dtrace: failed to compile script err.D_PRAGMA_MALFORM.none.d: [D_PRAGMA_MALFORM] line 1: malformed #pragma option <option>=<val>
err.D_PRAGMA_MALFORM.none.d:1:1: [D_PRAGMA_MALFORM]
    #pragma D option
    ^^^^^^^^^^^^^^^^
hint: as in: #pragma D option quiet
