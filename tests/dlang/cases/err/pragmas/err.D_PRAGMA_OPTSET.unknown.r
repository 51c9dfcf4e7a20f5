dtrace: failed to compile script err.D_PRAGMA_OPTSET.unknown.d: [D_PRAGMA_OPTSET] line 1: failed to set option 'quite': Invalid option name
err.D_PRAGMA_OPTSET.unknown.d:1:1: [D_PRAGMA_OPTSET]
    #pragma D option quite
    ^^^^^^^^^^^^^^^^^^^^^^
hint: did you mean quiet?
