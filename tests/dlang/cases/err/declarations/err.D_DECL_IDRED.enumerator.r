dtrace: failed to compile script err.D_DECL_IDRED.enumerator.d: [D_DECL_IDRED] line 2: identifier redeclared: RED
err.D_DECL_IDRED.enumerator.d:2:10: [D_DECL_IDRED]
    enum b { RED };
             ^^^
