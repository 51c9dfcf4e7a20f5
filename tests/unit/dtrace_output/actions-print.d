/* print() of what alloca() made: types, members, arrays, enums, pointers; members that are zero are not shown. */
enum eh { FIRSTVAL = 0, SECONDVAL = 1, THIRDVAL = 3 };
typedef struct pt { int x; int y; } pt_t;
typedef unsigned int myint;
struct all {
	int arr[3]; pt_t p; pt_t *pp; struct pt *pq; char *cp; char z[4]; char b[5];
	union { char c[4]; int i; } u;
	myint mi; uint8_t u8; bool g; enum eh h;
};

BEGIN
{
	this->t = (struct all *)alloca(sizeof (struct all));
	this->t->arr[0] = 5; this->t->p.x = 3; this->t->pp = (pt_t *)0x1234; this->t->cp = (char *)1;
	this->t->b[0] = 'o'; this->t->b[1] = 'k'; this->t->b[3] = '!';
	this->t->u.i = 0x41424344;
	this->t->mi = 99; this->t->u8 = 200; this->t->g = 1; this->t->h = SECONDVAL;
	print(this->t);
}

BEGIN
{
	this->i = (int *)alloca(4); *this->i = -77;
	print(this->i);
	setopt("printsize", "8");
	this->e = (pt_t *)alloca(8); this->e->x = 0; this->e->y = 0;
	print(this->e);
	printf("|");
	this->m = (myint *)alloca(4); *this->m = 77;
	print(this->m);
	this->k = (char *)alloca(1); *this->k = 0;
	print(this->k);
	exit(0);
}
