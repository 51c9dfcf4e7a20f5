dtrace: failed to compile script err.D_PRED_SCALAR.string.d: [D_PRED_SCALAR] line 5: predicate result must be of scalar type
err.D_PRED_SCALAR.string.d:2:2: [D_PRED_SCALAR]
    /execname/
     ^^^^^^^^
hint: compare the string with ""
