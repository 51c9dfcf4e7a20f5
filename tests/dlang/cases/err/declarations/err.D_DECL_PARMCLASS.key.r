dtrace: failed to compile script err.D_DECL_PARMCLASS.key.d: [D_DECL_PARMCLASS] line 1: inappropriate storage class for function or associative array parameter
err.D_DECL_PARMCLASS.key.d:1:7: [D_DECL_PARMCLASS]
    int a[static int];
          ^^^^^^^^^^
