#pragma D option quiet
_Bool b; BEGIN { b = 3; printf("%d %d\n", b, sizeof(b)); exit(0); }
