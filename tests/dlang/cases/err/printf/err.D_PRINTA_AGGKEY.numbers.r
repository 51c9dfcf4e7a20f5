dtrace: failed to compile script err.D_PRINTA_AGGKEY.numbers.d: [D_PRINTA_AGGKEY] line 1: printa( ): @a and @b do not have matching key signatures: @a has 1 key, @b has 2 keys
err.D_PRINTA_AGGKEY.numbers.d:1:46: [D_PRINTA_AGGKEY]
    BEGIN { @a[1] = count(); @b[1, 2] = count(); printa(@a, @b); }
                                                 ^^^^^^^^^^^^^^
