dtrace: failed to compile script err.D_PROTO_ARG.key.d: [D_PROTO_ARG] line 1: @a[ ] key #1 is incompatible with prototype:
	prototype: pid_t
	      key: string
err.D_PROTO_ARG.key.d:1:31: [D_PROTO_ARG]
    BEGIN { @a[pid] = count(); @a[execname] = count(); }
                                  ^^^^^^^^
hint: its first use decided the types of its keys
