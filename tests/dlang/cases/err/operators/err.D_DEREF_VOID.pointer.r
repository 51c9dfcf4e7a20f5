dtrace: failed to compile script err.D_DEREF_VOID.pointer.d: [D_DEREF_VOID] line 2: cannot dereference pointer to void
err.D_DEREF_VOID.pointer.d:2:15: [D_DEREF_VOID]
    BEGIN { trace(*p); }
                  ^^
hint: cast it to a pointer to what is there, such as (int *)
