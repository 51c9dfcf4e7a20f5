/* stringof() of a string that is NULL is a fault, though comparing and assigning one is none. */
#pragma D option quiet
string s, a[int]; int z; self string own;
BEGIN { z = 1; a[1] = "x"; s = stringof("lit"); printf("1 %s\n", stringof(s)); }
BEGIN { printf("2 %d %d\n", strchr("abc", 'x') == "b", strchr("abc", 'x') == NULL); }
BEGIN { printf("3 "); printf("%d\n", stringof(strchr("abc", 'x')) == "b"); }
BEGIN { printf("4 %d\n", stringof(a[1]) == "x"); }
BEGIN { printf("5 "); printf("%d\n", stringof(a[2]) == "x"); }
BEGIN { own = stringof(self->own); printf("6\n"); }
BEGIN { printf("7 %s\n", stringof(z ? a[1] : a[2])); }
BEGIN /stringof(a[3]) != NULL/ { printf("8\n"); }
BEGIN { s = NULL; printf("9 %d\n", s == NULL); }
BEGIN { printf("10 %d\n", stringof(s) == NULL); }
BEGIN { stringof(strstr("abc", "x")); printf("11\n"); }
BEGIN { self->own = "own"; printf("12 %s %s\n", stringof(self->own), stringof(execname == "x" ? "y" : "n")); }
BEGIN { exit(0); }
