/* Enumerators and inline constants are folded as the parser meets them. */
enum e { A = -7, B = 3, C };
enum u { U = 5, V };
enum e g; int i; long l; char c; short sh; unsigned char uc; enum u gu; unsigned int ui; uint64_t ul; uint8_t u8v;
struct s { enum e m; unsigned int um; unsigned char uc; } st;
this enum e tg; self enum e sg; enum e ag[int];
this unsigned int tu;
int dim[C];
inline int TEN = 10;
#pragma D option quiet
BEGIN
{
	i = -7; l = -8; 
	printf("1 %d %d %d %d\n", (long)(g = -3), (long)(g = i), (long)(g = l), (long)(g = A));
	printf("2 %d %d %d %d\n", (long)(ui = -3), (long)(ui = i), (long)(ui = l), (long)(ui = A));
	printf("3 %d %d %d %d\n", (long)(st.m = -3), (long)(st.m = i), (long)(st.m = l), (long)(st.m = A));
	printf("4 %d %d %d %d\n", (long)(st.um = -3), (long)(st.um = i), (long)(st.um = l), (long)(st.um = A));
	printf("5 %d %d %d %d\n", (long)(this->tg = -3), (long)(this->tg = i), (long)(this->tg = l), (long)(this->tg = A));
	printf("6 %d %d %d %d\n", (long)(self->sg = -3), (long)(self->sg = i), (long)(self->sg = l), (long)(self->sg = A));
	printf("7 %d %d %d %d\n", (long)(ag[1] = -3), (long)(ag[1] = i), (long)(ag[1] = l), (long)(ag[1] = A));
	printf("8 %d %d %d %d\n", (long)(this->tu = -3), (long)(this->tu = i), (long)(this->tu = l), (long)(this->tu = A));
	printf("9 %d %d %d %d\n", (long)(uc = -3), (long)(uc = i), (long)(u8v = l), (long)(st.uc = A));
	printf("10 %d %d %d %d\n", (long)(g += -300), (long)(g -= 1), (long)(g *= -2), (long)(g = -g));
	gu = 6;
	printf("11 %d %d %d %d\n", (long)(g = -gu), (long)(g = gu - 10), (long)(g = ~gu), (long)(g = (enum e)-gu));
	printf("12 %d %d %d %d\n", (long)(i = -gu), (long)(i = gu - 10), (long)(c = -gu), (long)(ul = -gu));
	printf("13 %d %d %d\n", (long)-U, (long)-A, (long)-TEN);
	printf("14 %d %d %d %d\n", (long)(-U >> 1), (long)(-C), -U < 0, (long)(-U + 1));
	printf("15 %d %d %d %d\n", sizeof (-U), sizeof (~U), sizeof (!U), sizeof (U == V));
	printf("16 %d %d\n", sizeof (dim), sizeof (!gu));
	printf("17 %d %d\n", 1 ? U : nosuch, U ? 1 : nosuch2);
	printf("18 %d %d\n", (long)((ui = -3), ui), (long)(g = -3, g));
	printf("19 %d %d %d\n", g == -3, (g = -3) == -3, (g = i) == i);
	x1 = (g = i); x2 = (ui = i); printf("20 %d %d\n", x1, x2);
	exit(0);
}
