/* Inlines and translators. */
#pragma D option quiet
inline int LIMIT = 10;
inline int twice[int x] = x * 2;
inline string name = "n";
inline int add[int a, int b] = twice[a] + b;
struct in { int a; char b; } i;
struct out { int big; char small; string text; } o;
translator struct out <struct in *p> { big = p->a * 100; small = p->b; text = "t"; };
translator struct out <struct in v> { big = v.a + 1; small = v.b; };
translator struct out <int n> { big = n; };
struct in *ip;
BEGIN { i.a = 4; i.b = 'z'; }
BEGIN { printf("%d %d %s %d\n", LIMIT, twice[LIMIT], name, add[3, 4]); }
BEGIN { printf("%d %c\n", xlate <struct out> (i).big, xlate <struct out> (i).small); }
BEGIN { printf("%d\n", xlate <struct out> (pid * 0 + 5).big); exit(LIMIT); }
