/* Operators on enumerations, and what their values become elsewhere. */
enum e { A = -7, B = 3, C };
enum u { U = 5, V };
typedef enum e e_t;
struct s { enum e m; e_t m2; };
enum e g; e_t gt; int i; unsigned int ui; long l; uint64_t ul; char c; int8_t i8; short sh; unsigned char uc;
struct s st; struct s *ps; enum e *pe; enum u gu; enum e ga[int]; 
inline enum e I = -9;
inline char IC = 300;
inline enum e J = g;
inline int K = A;
enum e garr[3];
#pragma D option quiet
BEGIN
{
	g = A; gt = A; i = -7; ui = 5; l = -7; gu = U; ga[0] = A; garr[1] = A;
	st.m = A; st.m2 = A;
	printf("1 %d %d %d %d\n", (long)-U, (long)(-gu), (long)~U, (long)~gu);
	printf("2 %d %d %d %d\n", -U, -gu, ~U, ~gu);
	printf("3 %d %d %d\n", -gu >> 1, (long)(-gu >> 1), (long)(-U >> 1));
	printf("4 %d %d %d\n", -gu < 0, -gu < gu, -U < U);
	printf("5 %d %d\n", g > -1, g < -1);
	printf("6 %d %d\n", -gu / 2, (long)(-gu / 2));
	printf("7 %d %d %d\n", (long)(-gu + gu), -gu & -1, (long)(-gu * gu));
	printf("8 %d %d %d\n", -gu + 1u, (long)(-gu + 1u), -gu < 1u);
	printf("9 %d %d %d\n", -gu + c, (long)(-gu + 'a'), -gu < uc);
	printf("10 %d %d %d %d\n", (uint64_t)g, (int64_t)g, (int)g, (unsigned)g);
	printf("11 %d %d %d %d\n", (uint64_t)-gu, (int64_t)-gu, (int)-gu, (unsigned)-gu);
	printf("12 %d %d %d %d\n", (short)g, (char)-gu, (enum e)gu, (enum e)i);
	printf("13 %d %d %d %d\n", (long)(enum e)i, (long)(enum e)l, (long)(enum e)ui, (long)(enum e)-1L);
	printf("14 %d %d %d %d\n", (enum e)-1L < 0, (enum e)i < 0, (enum e)c < 0, (enum e)-7 == A);
	printf("15 %d %d %d %d\n", gt, (long)gt, st.m2, (long)st.m2);
	printf("16 %d %d %d %d\n", I, IC, J, K);
	printf("17 %d %d %d %d\n", (long)I, (long)IC, (long)J, (long)K);
	printf("18 %d %d\n", garr[1], (long)garr[1]);
	i = g; l = g; ul = g; sh = g; ui = g;
	printf("19 %d %d %d %d %d\n", i, l, ul, sh, ui);
	i = A; l = A; ul = A; sh = A; ui = A;
	printf("20 %d %d %d %d %d\n", i, l, ul, sh, ui);
	l = -gu; ul = -gu; i = -gu;
	printf("21 %d %d %d\n", l, ul, i);
	g = -1; g++; 
	printf("22 %d\n", g);
	g--; g--; 
	printf("23 %d %d\n", g, (long)g);
	g += 5;
	printf("24 %d %d\n", g, (long)g);
	g -= 5; g *= 3;
	printf("25 %d %d\n", g, (long)g);
	printf("26 %d %d %d\n", (long)g++, (long)--g, (long)(g = -3));
	printf("27 %d %d %d\n", (long)(g -= 1), (g = A) < 0, (g = A));
	printf("28 %d %d %d\n", 1 ? g : i, 1 ? g : l, (long)(1 ? g : i));
	printf("29 %d %d %d\n", i ? g : i, i ? g : l, (long)(i ? g : gt));
	printf("30 %d %d %d\n", i ? A : B, i ? A : -8, (long)(i ? A : B));
	printf("31 %d %d %d\n", i ? A : 8u, i ? A : 8L, (long)(i ? A : g));
	printf("32 %d %d %d\n", i ? A : c, i ? A : uc, i ? c : A);
	printf("33 %d %d %d\n", A | 0, A & A, (long)(A ^ 1));
	printf("34 %d %d %d\n", A << 1, (long)(A << 1), (long)(g << 1));
	printf("35 %d %d %d\n", g & 0xff, g | l, (long)(g | i));
	printf("36 %d %d %d\n", !g, g && 1, g ^^ 1);
	printf("37 %d %d %d\n", sizeof (g + 1), sizeof (g + c), sizeof (-g));
	printf("38 %d %d %d\n", sizeof (g + 1L), sizeof (g << 1L), sizeof (c + g));
	printf("39 %s\n", lltostr(g)); printf("40 %s\n", lltostr(A)); printf("41 %s\n", lltostr(-gu));
	printf("42 %s\n", substr("abcdef", gu - 4, gu - 3));
	this->y = g; this->z = A; printf("43 %d %d %d %d\n", this->y, this->z, (long)this->y, (long)this->z);
	this->w = A + 1; this->v = -gu; printf("44 %d %d %d %d\n", this->w, this->v, (long)this->w, (long)this->v);
}
BEGIN { printf("50 %5d|%-5d|%08x|%+d|% d|%'d\n", g, A, g, A, g, g); }
BEGIN { printf("51 %c %C\n", (enum e)65, (enum e)10); }
BEGIN { printf("53 %*d|\n", (enum e)6, 1);  }
BEGIN { printf("54 %ld %d\n", (long)A, (long long)g); }
BEGIN { assoc[A] = 1; assoc[g] = 2; printf("55 %d %d %d %d\n", assoc[A], assoc[g], assoc[(enum e)-7], assoc[(enum e)i]); }
BEGIN { @[A, g, st.m, (enum e)i] = count(); @b[I] = count(); @c[-gu, A + 1, g >> 1] = count(); }
BEGIN { trace(J); trace(" "); trace(K); trace(" "); trace(I);  trace(" "); trace(-g); trace(" "); trace(A | 0); trace(" "); trace(~g); trace("\n"); exit(0); }
BEGIN { trace(st.m2); trace(ga[0]); trace(garr[1]); }
