dtrace: failed to compile script err.D_PRAGMA_OPTSET.value.d: [D_PRAGMA_OPTSET] line 1: failed to set option 'strsize' to 'large': Invalid value for specified option
err.D_PRAGMA_OPTSET.value.d:1:1: [D_PRAGMA_OPTSET]
    #pragma D option strsize=large
    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
