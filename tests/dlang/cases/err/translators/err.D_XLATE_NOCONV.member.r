dtrace: failed to compile script err.D_XLATE_NOCONV.member.d: [D_XLATE_NOCONV] line 3: translator does not define conversion for member: b
err.D_XLATE_NOCONV.member.d:3:15: [D_XLATE_NOCONV]
    BEGIN { trace(xlate <struct o> (1).b); }
                  ^^^^^^^^^^^^^^^^^^^^^^
