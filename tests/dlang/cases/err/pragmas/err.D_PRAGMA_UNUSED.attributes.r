dtrace: failed to compile script err.D_PRAGMA_UNUSED.attributes.d: [D_PRAGMA_UNUSED] line 1: unused #pragma attributes
err.D_PRAGMA_UNUSED.attributes.d:1:1: [D_PRAGMA_UNUSED]
    #pragma D attributes Stable/Stable/Common nobody
    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
hint: nothing defines nobody
