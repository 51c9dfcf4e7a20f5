dtrace: failed to compile script err.D_AGG_FUNC.number.d: [D_AGG_FUNC] line 1: @a must be assigned the result of an aggregating function
err.D_AGG_FUNC.number.d:1:9: [D_AGG_FUNC]
    BEGIN { @a = 1; }
            ^^^^^^
hint: such as count(), sum(x), quantize(x)
