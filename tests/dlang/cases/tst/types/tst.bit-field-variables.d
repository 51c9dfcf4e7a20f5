/* A variable that is first assigned a bit-field has the bytes which that is read with. */
#pragma D option quiet
struct S { unsigned int u:12; int i:12; unsigned int w:20; unsigned int n:5; unsigned long l:40; }; struct S sv;
BEGIN { sv.u = 5; sv.i = -3; sv.w = 7; sv.n = 3; sv.l = 1; }
BEGIN { x = sv.u; x = 0; --x; printf("%d %x\n", x, x); x = 100000; printf("%d\n", x); }
BEGIN { y = sv.i; printf("%d ", y); y = 100000; printf("%d\n", y); }
BEGIN { z = sv.w; z = -1; printf("%d %x\n", z, z); v = sv.n; v = -1; printf("%d %x\n", v, v); }
BEGIN { this->a = sv.u; this->a = -1; printf("%d %x\n", this->a, this->a); l = sv.l; l = -1; printf("%d\n", l); }
BEGIN { self->q = sv.u; self->q = -1; w[1] = sv.u; w[1] = -1; printf("%d %d\n", self->q, w[1]); exit(0); }
