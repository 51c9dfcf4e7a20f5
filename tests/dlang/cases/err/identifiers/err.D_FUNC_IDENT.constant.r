dtrace: failed to compile script err.D_FUNC_IDENT.constant.d: [D_FUNC_IDENT] line 1: function designator is not of function type
err.D_FUNC_IDENT.constant.d:1:9: [D_FUNC_IDENT]
    BEGIN { 1(2); }
            ^^^^
