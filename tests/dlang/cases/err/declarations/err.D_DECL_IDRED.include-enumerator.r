dtrace: failed to compile script err.D_DECL_IDRED.include-enumerator.d: [D_DECL_IDRED] "script.d", line 3: identifier redeclared: RED
script.d:3:10: [D_DECL_IDRED]
    enum b { RED };
             ^^^
