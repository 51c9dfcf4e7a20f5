/* ?: of enumerations and integers; the types of inline definitions. */
enum e { A = -7, B = 3, C };
enum u { U = 5, V };
enum e g; int i; long l; char c; short sh; unsigned char uc; enum u gu; unsigned int ui; uint64_t ul;
int zero;
inline char IC = 300; inline int IL = l; inline long LI = i; inline uint64_t UI = i; inline char CI = i; inline enum e EI = i; inline unsigned int UA = -1; inline int UX = 4294967295;
inline int P = 5; inline short SH = 70000;
inline string S = "abc";
inline char IA[int x] = x;
inline uint64_t IB[int x] = x;
inline int KA[char x] = x;
#pragma D option quiet
BEGIN
{
	g = A; i = -8; l = -9; c = -3; sh = -4; gu = V; ui = 4294967295; uc = 255;
	printf("1 %d %d %d %d\n", i ? -8 : A, i ? A : -8, zero ? A : -8, zero ? -8 : A);
	printf("2 %d %d %d %d\n", i ? c : A, i ? A : c, zero ? A : c, zero ? c : A);
	printf("3 %d %d %d %d\n", i ? l : A, i ? A : l, zero ? A : l, zero ? l : A);
	printf("4 %d %d %d %d\n", i ? l : g, i ? g : l, zero ? g : l, zero ? l : g);
	printf("5 %d %d %d %d\n", i ? i : g, i ? g : i, zero ? g : i, zero ? i : g);
	printf("6 %d %d %d %d\n", i ? g : gu, i ? gu : g, zero ? g : gu, zero ? gu : g);
	printf("7 %d %d %d %d\n", i ? -gu : g, i ? ui : g, zero ? g : ui, zero ? ui : g);
	printf("8 %d %d %d %d\n", sizeof (i ? g : c), sizeof (i ? c : g), sizeof (i ? l : g), sizeof (i ? g : gu));
	printf("9 %d %d %d\n", g + gu, g | gu, g * gu);
	printf("10 %d %d %d\n", g + ui, g | ui, ui - g);
	printf("11 %d %d %d\n", g + c, c - g, c * gu);
	printf("12 %d %d %d\n", sizeof (g + c), sizeof (c + g), sizeof (g + g));
	x1 = i ? g : c; x2 = i ? c : g; x3 = i ? g : i; x4 = i ? i : g; x5 = g + g; x6 = A + B; x7 = A | B;
	printf("13 %d %d %d %d %d %d %d\n", x1, x2, x3, x4, x5, x6, x7);
	printf("20 %d %d %d %d %d %d %d %d\n", IC, IL, LI, UI, CI, EI, UA, UX);
	printf("21 %d %d %d %d %d %d %d %d\n", sizeof (IC), sizeof (IL), sizeof (LI), sizeof (UI), sizeof (CI), sizeof (EI), sizeof (UA), sizeof (UX));
	printf("22 %d %d %d\n", IA[1000], IB[-1], KA[1000]);
	printf("23 %d %d %d %d\n", sizeof (IA[1]), sizeof (IB[1]), sizeof (KA[1]), SH);
	i = 1000;
	printf("24 %d %d %d %d\n", CI, (long)CI, CI + 1, CI == 1000);
	y1 = CI; y2 = IC; y3 = LI; y4 = UI;
	printf("25 %d %d %d %d\n", y1, y2, y3, y4);
	i = -1;
	printf("26 %d %d %d %d\n", UI > 0, LI > 0, EI > 0, UA > 0);
	printf("27 %x %x %x %x\n", UI, LI, EI, UA);
	printf("28 %d %d\n", UI >> 1, UI / 2);
}
BEGIN { trace(IC); trace(" "); trace(IL); trace(" "); trace(UI); trace(" "); trace(CI); trace(" "); trace(UA); trace(" "); trace(IA[1000]); trace("\n"); }
BEGIN { @[IC, CI, UA, LI] = count(); @q = sum(UI); @r = sum(CI); exit(0); }
