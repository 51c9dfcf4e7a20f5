dtrace: failed to compile script err.D_UNSUPPORTED.provider.d: [D_UNSUPPORTED] line 1: provider definitions are not supported yet
err.D_UNSUPPORTED.provider.d:1:1: [D_UNSUPPORTED]
    provider web {
    ^^^^^^^^^^^^^^
