dtrace: failed to compile script err.D_PRINTA_AGGPROTO.types.d: [D_PRINTA_AGGPROTO] line 1: printa( ): @b[ ] key #1 is incompatible with @a:
        a key #1: int
        b key #1: string
err.D_PRINTA_AGGPROTO.types.d:1:45: [D_PRINTA_AGGPROTO]
    BEGIN { @a[1] = count(); @b["x"] = count(); printa(@a, @b); }
                                                ^^^^^^^^^^^^^^
