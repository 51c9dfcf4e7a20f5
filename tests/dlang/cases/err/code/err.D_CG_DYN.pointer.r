dtrace: failed to compile script err.D_CG_DYN.pointer.d: [D_CG_DYN] line 3: expression cannot evaluate to result of dynamic type
err.D_CG_DYN.pointer.d:3:19: [D_CG_DYN]
    BEGIN { trace(1); xlate <struct o *> (0); }
                      ^^^^^^^^^^^^^^^^^^^^^^
hint: use a member of what is translated, or assign the whole
