/* ?: of a string and NULL, of a void pointer, of an array of char; fault by fault. */
#pragma D option quiet
int c;
int zero;
string s, t;
char *p;
void *v;
struct s { char a[4]; } st;
inline string NONE = 0;
self string own;
string array[int];

BEGIN { c = 1; st.a[0] = 'x'; t = "t"; }
BEGIN { printf("1 %s %s\n", c ? "a" : NULL, zero ? NULL : "b"); }
BEGIN { printf("2 %s\n", zero ? "a" : NULL); }
BEGIN { printf("3 %s\n", c ? NULL : "a"); }
BEGIN { s = c ? "a" : NULL; printf("4 %s\n", s); s = c ? NULL : "a"; printf("5 %s\n", s); }
BEGIN { printf("6 %s %s\n", c ? t : NULL, zero ? NULL : t); }
BEGIN { printf("7 %s %s\n", c ? "a" : v, zero ? v : "b"); }
BEGIN { printf("8 %s\n", zero ? "a" : v); }
BEGIN { printf("9 %s\n", c ? v : "a"); }
BEGIN { printf("10 %s\n", c ? p : "a"); }
BEGIN { printf("11 %s %s\n", c ? st.a : NULL, zero ? NULL : st.a); }
BEGIN { printf("12 %s\n", zero ? st.a : NULL); }
BEGIN { printf("13 %s %s\n", c ? st.a : "b", zero ? st.a : "b"); }
BEGIN { printf("14 %d\n", strlen(c ? "abc" : NULL)); }
BEGIN { printf("15 %d\n", strlen(c ? NULL : "abc")); }
BEGIN { printf("16 %d %d\n", (c ? "a" : NULL) == "a", (zero ? "a" : NULL) == NULL); }
BEGIN { self->own = c ? "a" : NULL; printf("17 %s\n", self->own); array[1] = c ? "b" : NULL; printf("18 %s\n", array[1]); }
BEGIN { trace(NONE); printf(" %d %d\n", sizeof (NONE), NONE == NULL); }
BEGIN { printf("19 %d %d\n", sizeof (c ? "a" : NULL), sizeof (c ? NULL : t)); }
BEGIN { printf("20 %d %d\n", (c, c ? NULL : "a") == NULL, (s = c ? "a" : NULL) == NULL); }
BEGIN { exit(0); }
