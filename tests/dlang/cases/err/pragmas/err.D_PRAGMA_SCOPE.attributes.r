dtrace: failed to compile script err.D_PRAGMA_SCOPE.attributes.d: [D_PRAGMA_SCOPE] line 1: #pragma attributes cannot modify entity defined outside program scope
err.D_PRAGMA_SCOPE.attributes.d:1:1: [D_PRAGMA_SCOPE]
    #pragma D attributes Stable/Stable/Common pid
    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
