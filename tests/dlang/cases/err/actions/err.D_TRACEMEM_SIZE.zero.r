dtrace: failed to compile script err.D_TRACEMEM_SIZE.zero.d: [D_TRACEMEM_SIZE] line 1: tracemem( ) argument #2 must be a non-zero positive integral constant expression
err.D_TRACEMEM_SIZE.zero.d:1:9: [D_TRACEMEM_SIZE]
    BEGIN { tracemem(123, 0); }
            ^^^^^^^^^^^^^^^^
