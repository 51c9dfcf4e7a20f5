dtrace: failed to compile script err.D_DECL_LONGINT.string.d: [D_DECL_LONGINT] line 1: invalid type declaration: long and long long may only be used with integer or floating-point type
err.D_DECL_LONGINT.string.d:1:6: [D_DECL_LONGINT]
    long string s;
         ^^^^^^
