/* The value of an assignment is what was assigned: only the variable is cut to its type. */
int i; long l; char c; short sh; unsigned char uc; unsigned int ui; uint64_t ul; unsigned short us;
struct s { char c; unsigned int um; unsigned char uc; int b:4; unsigned int ub:4; int i; short sh; } st;
this char tc; self char sc; char ac[int]; this unsigned short tus; self unsigned short sus; unsigned short aus[int];
#pragma D option quiet
BEGIN
{
	l = 1 << 31; l = (l << 8) + 300; 
	printf("1 %d %d %d %d\n", (long)(c = 300), (long)(sh = 70000), (long)(i = l), (long)(ui = l));
	printf("2 %d %d %d %d\n", (long)(c = l), (long)(sh = l), (long)(uc = l), (long)(us = l));
	printf("3 %d %d %d %d\n", (long)(this->tc = l), (long)(self->sc = l), (long)(ac[1] = l), (long)(this->tus = l));
	printf("4 %d %d %d %d\n", (long)(self->sus = l), (long)(aus[1] = l), (long)(st.c = l), (long)(st.um = l));
	printf("5 %d %d %d %d\n", (long)(st.uc = l), 0, 0, (long)(st.i = l));
	printf("6 %d %d %d %d\n", (long)(st.sh = l), (long)(st.c = 300), 0, 0);
	printf("7 %d %d %d %d\n", c, sh, uc, us);
	printf("8 %d %d %d %d\n", this->tc, self->sc, ac[1], this->tus);
	printf("9 %d %d %d %d %d\n", st.c, st.um, st.uc, st.b, st.ub);
	printf("10 %d %d %d %d\n", (c = 300) == 300, (uc = 300) == 300, (ac[1] = 300) == 300, (st.c = 300) == 300);
	printf("11 %d %d %d %d\n", (long)(c += 300), (long)(uc += 300), (long)(self->sc += 300), (long)(ac[1] += 300));
	printf("12 %d %d %d %d\n", (long)(st.c += 300), (long)(st.uc += 300), 0, 0);
	c = 127; uc = 255; st.c = 127; self->sc = 127; ac[1] = 127;
	printf("13 %d %d %d %d\n", (long)(++c), (long)(++uc), (long)(++st.c), 0);
	c = 127; uc = 255; st.c = 127; self->sc = 127; ac[1] = 127;
	printf("14 %d %d %d %d\n", (long)(c++), (long)(uc++), (long)(++self->sc), (long)(++ac[1]));
	printf("15 %d %d %d %d\n", c, uc, self->sc, ac[1]);
	x1 = (c = 300); x2 = (uc = 300); x3 = (ui = -1); x4 = 0;
	printf("16 %d %d %d %d\n", x1, x2, x3, x4);
	printf("17 %d %d %d %d\n", c = 300, uc = 300, ui = -1, 0);
	l = (c = 300); printf("18 %d", l); l = (uc = 300); printf(" %d", l); l = (ui = -1); printf(" %d", l); l = (st.c = 300); printf(" %d", l);  
	ul = (c = 300); printf("19 %d", ul); ul = (i = -1); printf(" %d", ul); 	ul = (c = -1); printf(" %d", ul); ui = (c = -1); printf(" %d", ui); i = (ui = -1); printf(" %d\n", i);
	c = uc = i = l = 70000; printf("20 %d %d %d %d\n", c, uc, i, l);
	printf("22 %s %s\n", lltostr(c = 300), lltostr(ui = -1));
	printf("23 %d %d %d\n", (c = 300) + 1, (c = 300) >> 1, (ui = -1) >> 1);
	printf("24 %d %d %d\n", (c = 256) ? 1 : 2, (uc = 256) && 1, !(uc = 256));
	exit(0);
}
