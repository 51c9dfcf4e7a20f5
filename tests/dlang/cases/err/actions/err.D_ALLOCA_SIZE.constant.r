dtrace: failed to compile script err.D_ALLOCA_SIZE.constant.d: [D_ALLOCA_SIZE] line 1: alloca(300) size larger than scratchsize 256
err.D_ALLOCA_SIZE.constant.d:1:20: [D_ALLOCA_SIZE]
    BEGIN { x = alloca(300); }
                       ^^^
hint: -x scratchsize=300 gives more
