dtrace: failed to compile script err.D_PRAGMA_INVAL.attributes.d: [D_PRAGMA_INVAL] line 1: invalid attributes specified by #pragma attributes
err.D_PRAGMA_INVAL.attributes.d:1:1: [D_PRAGMA_INVAL]
    #pragma D attributes Solid/Stable/Common x
    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
hint: such as Evolving/Evolving/Common
