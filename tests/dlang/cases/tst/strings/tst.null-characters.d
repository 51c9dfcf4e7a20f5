/* A character of a string that is NULL: the address that is not there is its index. */
#pragma D option quiet
string s; int i;
BEGIN { s = "abc"; i = 2; printf("%d %d\n", s[1], s[i]); }
BEGIN { s = NULL; trace(s[1]); }
BEGIN { trace(s[i]); }
BEGIN { self->t = "abc"; self->t = NULL; trace(self->t[0]); }
BEGIN { a[1] = "abc"; trace(a[1][2]); trace(a[2][300]); }
BEGIN { exit(0); }
