dtrace: failed to compile script err.D_ARR_LOCAL.this.d: [D_ARR_LOCAL] line 1: local variables may not be used as associative arrays: a
err.D_ARR_LOCAL.this.d:1:9: [D_ARR_LOCAL]
    BEGIN { this->a[1] = 2; }
            ^^^^^^^
hint: use self-> or a global array
