dtrace: failed to compile script err.D_CG_DYN.whole.d: [D_CG_DYN] line 3: expression cannot evaluate to result of dynamic type
err.D_CG_DYN.whole.d:3:9: [D_CG_DYN]
    BEGIN { *xlate <struct o *> (0); exit(0); }
            ^^^^^^^^^^^^^^^^^^^^^^^
hint: use a member of what is translated, or assign the whole
