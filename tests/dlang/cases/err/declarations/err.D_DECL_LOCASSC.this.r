dtrace: failed to compile script err.D_DECL_LOCASSC.this.d: [D_DECL_LOCASSC] line 1: associative arrays may not be declared as local variables: a
err.D_DECL_LOCASSC.this.d:1:1: [D_DECL_LOCASSC]
    this int a[int];
    ^^^^^^^^^^^^^^^
hint: use self-> or a global array
