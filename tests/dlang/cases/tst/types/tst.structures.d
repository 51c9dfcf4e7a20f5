/* Structs, unions, bit-fields: by value, nested, in variables of every class, as keys and elements. */
#pragma D option quiet
struct inner { short a; char b[6]; };
struct outer { int x; struct inner in; union { long l; char c[8]; } u; int f:5; unsigned int g:12; } o, p;
struct outer many[int];
self struct outer s;
this struct outer t;
typedef struct inner inner_t;
inner_t pair[3];
enum color { RED, GREEN = 5, BLUE };
enum color c;
BEGIN { o.x = 7; o.in.a = -3; o.u.l = 0x4142434445464748; o.f = 9; o.g = 0xabc; }
BEGIN { printf("%d %d %x %d %d %d\n", o.x, o.in.a, o.u.l, o.u.c[0], o.f, o.g); }
BEGIN { o.f = 31; o.f++; o.g += 1; o.x *= 3; o.in.a--; printf("%d %d %d %d\n", o.f, o.g, o.x, o.in.a); }
BEGIN { o.in.b[0] = 'h'; o.in.b[1] = 'i'; printf("[%s] %d\n", o.in.b, sizeof(o)); }
BEGIN { p = o; p.x = 1; printf("%d %d %d\n", o.x, p.x, p.in.a); }
BEGIN { many[3] = o; printf("%d\n", many[3].x); }
BEGIN { self->s = o; self->s.x = 99; printf("%d %d\n", self->s.x, self->s.in.a); }
BEGIN { this->t = p; this->t.x++; printf("%d\n", this->t.x); }
BEGIN { pair[1].a = 4; pair[2].a = 5; i = 1; printf("%d %d %d\n", pair[0].a, pair[i].a, pair[i + 1].a); }
BEGIN { c = BLUE; printf("%d %d %d\n", c, GREEN, c == BLUE); }
BEGIN { printf("%d %d %d\n", offsetof(struct outer, u), sizeof(struct outer), sizeof(pair)); }
BEGIN { many[3] = 0; self->s = 0; printf("done\n"); exit(0); }
