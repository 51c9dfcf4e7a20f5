dtrace: failed to compile script err.D_PRAGERR.error.d: [D_PRAGERR] line 1: #error: not for this machine 
err.D_PRAGERR.error.d:1:1: [D_PRAGERR]
    #error not for this machine
    ^^^^^^^^^^^^^^^^^^^^^^^^^^^
