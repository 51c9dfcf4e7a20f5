dtrace: failed to compile script err.D_PROTO_ARG.uregs-string.d: [D_PROTO_ARG] line 1: uregs[ ] argument #1 is incompatible with prototype:
	prototype: integer constant
	 argument: string
err.D_PROTO_ARG.uregs-string.d:1:15: [D_PROTO_ARG]
    BEGIN { trace(uregs["a"]); }
                  ^^^^^^^^^^
