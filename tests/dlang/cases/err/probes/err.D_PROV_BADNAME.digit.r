dtrace: failed to compile script err.D_PROV_BADNAME.digit.d: [D_PROV_BADNAME] line 3: provider name may not end with a digit: web1
err.D_PROV_BADNAME.digit.d:1:1: [D_PROV_BADNAME]
    provider web1 {
    ^^^^^^^^^^^^^^^
