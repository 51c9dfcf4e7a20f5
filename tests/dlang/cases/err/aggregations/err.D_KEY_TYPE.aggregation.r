dtrace: failed to compile script err.D_KEY_TYPE.aggregation.d: [D_KEY_TYPE] line 1: aggregation expression may not be used as associative array index: key #1
err.D_KEY_TYPE.aggregation.d:1:25: [D_KEY_TYPE]
    BEGIN { @a = count(); b[@a] = 2; }
                            ^^
