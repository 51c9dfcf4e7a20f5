/* trace() of arrays of char: with bytes behind a NUL, without a NUL, with what does not print. */
struct s { char a[8]; int i; char b[20]; unsigned char uc[4]; signed char sc[4]; int8_t i8[4]; uint8_t u8[4]; char one[1]; int ints[2]; short sh[2]; } st;
char g[6]; this char tc[5]; struct s *p; typedef char name_t[8]; name_t nt; char c2[2][4]; typedef char ch; ch typed[4];
string str;
#pragma D option quiet
BEGIN { st.a[0] = 'a'; st.a[1] = 'b'; trace(st.a); printf("|1\n"); }
BEGIN { st.a[2] = 0; st.a[3] = 'x'; trace(st.a); printf("|2\n"); }
BEGIN { st.a[2] = 'c'; st.a[3] = 'd'; st.a[4] = 'e'; st.a[5] = 'f'; st.a[6] = 'g'; st.a[7] = 'h'; trace(st.a); printf("|3\n"); }
BEGIN { st.a[7] = 0; trace(st.a); printf("|4\n"); }
BEGIN { st.a[1] = 1; trace(st.a); printf("|5\n"); }
BEGIN { st.a[1] = '\n'; trace(st.a); printf("|6\n"); }
BEGIN { st.a[1] = '\t'; trace(st.a); printf("|7\n"); }
BEGIN { st.a[1] = 0xc3; st.a[2] = 0xa9; trace(st.a); printf("|8\n"); }
BEGIN { st.a[1] = 127; st.a[2] = 'c'; trace(st.a); printf("|9\n"); }
BEGIN { st.a[1] = '\e'; trace(st.a); printf("|10\n"); }
BEGIN { st.a[1] = '\b'; trace(st.a); printf("|11\n"); }
BEGIN { st.a[1] = '\f'; trace(st.a); printf("|13\n"); }
BEGIN { st.a[1] = '\v'; trace(st.a); printf("|14\n"); }
BEGIN { st.a[1] = '\a'; trace(st.a); printf("|15\n"); }
BEGIN { st.a[1] = 'b'; st.a[0] = 0; trace(st.a); printf("|16\n"); }
BEGIN { st.b[0] = 'a'; st.b[19] = 'z'; trace(st.b); printf("|17\n"); }
BEGIN { trace(st.uc); trace(st.sc); trace(st.i8); trace(st.u8); printf("|18\n"); }
BEGIN { st.uc[0] = 'a'; st.sc[0] = 'b'; st.i8[0] = 'c'; st.u8[0] = 'd'; trace(st.uc); trace(st.sc); trace(st.i8); trace(st.u8); printf("|19\n"); }
BEGIN { trace(st.one); st.one[0] = 'x'; trace(st.one); st.one[0] = 1; trace(st.one); printf("|20\n"); }
BEGIN { trace(st.ints); st.ints[0] = 0x41414141; trace(st.ints); st.sh[0] = 0x4242; trace(st.sh); printf("|21\n"); }
BEGIN { g[0] = 'g'; trace(g); g[2] = 'h'; trace(g); printf("|22\n"); }
BEGIN { this->tc[0] = 't'; trace(this->tc); this->tc[4] = 'u'; trace(this->tc); printf("|23\n"); }
BEGIN { p = alloca(sizeof (struct s)); p->a[0] = 'p'; trace(p->a); p->a[2] = 'q'; trace(p->a); printf("|24\n"); }
BEGIN { nt[0] = 'n'; trace(nt); nt[5] = 'm'; trace(nt); printf("|25\n"); }
BEGIN { c2[0][0] = 'a'; trace(c2[0]); c2[0][2] = 'b'; trace(c2[0]); trace(c2); printf("|26\n"); }
BEGIN { typed[0] = 'a'; trace(typed); typed[2] = 'b'; trace(typed); printf("|27\n"); }
BEGIN { trace(st); printf("|28\n"); }
BEGIN { st.a[0] = 'a'; st.a[1] = 0; st.a[2] = 'c'; printf("%s|%S|%-10s|%.1s|%10S|\n", st.a, st.a, st.a, st.a, st.a); }
BEGIN { trace("a\1b"); printf("|34\n"); }
BEGIN { exit(0); }
