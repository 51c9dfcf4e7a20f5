dtrace: failed to compile script err.D_DECL_PROTO_NAME.provider.d: [D_DECL_PROTO_NAME] line 2: parameter declaration requires a name: parameter #1
err.D_DECL_PROTO_NAME.provider.d:2:34: [D_DECL_PROTO_NAME]
    	probe start(char *path, int) : (int);
    	                                ^^^
