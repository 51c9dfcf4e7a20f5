dtrace: failed to compile script err.D_IDENT_BADREF.function.d: [D_IDENT_BADREF] line 1: tracing function 'printf' may not be referenced as scalar
err.D_IDENT_BADREF.function.d:1:15: [D_IDENT_BADREF]
    BEGIN { trace(printf); }
                  ^^^^^^
hint: call it: printf(…)
