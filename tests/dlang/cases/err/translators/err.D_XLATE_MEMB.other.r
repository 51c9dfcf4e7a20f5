dtrace: failed to compile script err.D_XLATE_MEMB.other.d: [D_XLATE_MEMB] line 4: translator member cuont is not a member of struct o
err.D_XLATE_MEMB.other.d:2:1: [D_XLATE_MEMB]
    translator struct o <int v> {
    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
hint: did you mean count?
