/* Pointers to D's own variables and to memory of alloca(); arithmetic, comparisons, faults. */
#pragma D option quiet
int a[5];
int *p;
int *q;
char *s;
struct pt { int x; int y; } *r;
void *v;
BEGIN { a[0] = 10; a[1] = 11; a[2] = 12; a[3] = 13; a[4] = 14; p = a; q = &a[3]; }
BEGIN { printf("%d %d %d %d\n", *p, p[2], *(p + 1), *q); }
BEGIN { p++; printf("%d ", *p); p += 2; printf("%d ", *p); p--; printf("%d\n", *p); }
BEGIN { s = alloca(8); s[0] = 'x'; s[1] = 'y'; s[2] = 0; printf("%s %c\n", stringof(s), s[1]); }
BEGIN { v = &a[4]; printf("%d\n", *(int *)v); }
BEGIN { i = 3; printf("%d\n", a[i]); i = 7; printf("%d\n", a[i]); }
BEGIN { x = (int *)8; printf("%d\n", *x); }
BEGIN { bcopy("hello", s = alloca(6), 6); printf("%s\n", stringof(s)); exit(0); }
