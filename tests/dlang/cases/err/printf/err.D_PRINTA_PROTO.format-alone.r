dtrace: failed to compile script err.D_PRINTA_PROTO.format-alone.d: [D_PRINTA_PROTO] line 1: printa( ) prototype mismatch: 1 args passed, 2 expected
err.D_PRINTA_PROTO.format-alone.d:1:23: [D_PRINTA_PROTO]
    BEGIN { @a = count(); printa("%@d"); }
                          ^^^^^^^^^^^^^
