dtrace: failed to compile script err.D_MACRO_UNDEF.variable.d: [D_MACRO_UNDEF] line 1: macro variable $targt is not defined
err.D_MACRO_UNDEF.variable.d:1:15: [D_MACRO_UNDEF]
    BEGIN { trace($targt); }
                  ^^^^^^
hint: the macro variables are $pid, $target
