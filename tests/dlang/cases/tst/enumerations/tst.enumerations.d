/* Enumerations: unsigned where they are stored, loaded and printed; their enumerators are constants with a sign. */
enum e { A = -7, B = 3, C };
enum u { U = 5, V };
typedef enum e e_t;
struct s { enum e m; int n; enum e arr[2]; };
enum e g;
self enum e se;
this enum e te;
enum e arr[int];
struct s st;
inline enum e I = -9;
#pragma D option quiet
BEGIN
{
	g = A; se2 = A; self->se = A; this->te = A; arr[1] = A; st.m = A; st.arr[1] = A; st.n = A;
	self->dyn = A; this->dyn = A; dyn[1] = A;
	printf("1 %d %d %d %d %d %d %d %d\n", A, g, se2, self->se, this->te, arr[1], st.m, st.arr[1]);
	printf("2 %i %u %x %o %X\n", A, A, A, A, A);
	printf("2g %i %u %x %o %X\n", g, g, g, g, g);
	printf("3 %d %d %d %d\n", self->dyn, this->dyn, dyn[1], st.n);
	printf("4 %d %d %d\n", (int)A, (long)A, (uint64_t)A);
	printf("4g %d %d %d\n", (int)g, (long)g, (uint64_t)g);
	printf("4s %d %d %d\n", (int)st.m, (long)st.m, (uint64_t)st.m);
	printf("5 %d %d %d %d\n", A < 0, g < 0, self->se < 0, st.m < 0);
	printf("6 %d %d %d %d\n", A == -7, g == -7, self->se == -7, st.m == -7);
	printf("7 %d %d %d %d\n", A == 4294967289, g == 4294967289, self->se == 4294967289, st.m == 4294967289);
	printf("8 %d %d %d %d\n", A + 1, g + 1, self->se + 1, st.m + 1);
	printf("9 %d %d %d %d\n", A + 1L, g + 1L, self->se + 1L, st.m + 1L);
	printf("10 %d %d %d %d\n", -A, -g, -self->se, -st.m);
	printf("11 %d %d %d %d\n", A >> 1, g >> 1, self->se >> 1, st.m >> 1);
	printf("12 %d %d %d %d\n", A / 2, g / 2, self->se / 2, st.m / 2);
	printf("13 %d %d %d %d\n", A % 4, g % 4, self->se % 4, st.m % 4);
	printf("14 %d %d %d %d\n", ~A, ~g, ~self->se, ~st.m);
	printf("15 %d %d %d %d\n", 1 ? A : 0, 1 ? g : 0, 1 ? self->se : B, 1 ? st.m : B);
	printf("16 %d %d %d\n", (enum e)-7, (e_t)-7, (enum u)g);
	printf("17 %d %d %d\n", I, (char)A, (unsigned char)g);
	printf("18 %d %d\n", sizeof (A), sizeof (enum e));
	printf("19 %lld %lld\n", A, g);
}
BEGIN { trace(A); trace(" "); trace(g); trace(" "); trace(self->se); trace(" "); trace(st.m); trace(" "); trace((enum e)-8); trace("\n"); }
BEGIN { @a[A] = count(); @b[g] = count(); @c[(enum e)-7, 1] = sum(A); @d["x"] = sum(g); @f = max(g); @h = min(A); @i = avg(g); @j = lquantize(g, -10, 10, 1); @k = quantize(g);  }
BEGIN { exit(0); }
