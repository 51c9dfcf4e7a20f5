/* Bit-fields share bytes as in C: what a program has written is read. */
#pragma D option quiet
struct flags { unsigned a : 3; unsigned b : 5; unsigned c : 8; int : 0; int d; };

BEGIN
{
	this->p = (struct flags *)alloca(16);
	*(uint64_t *)this->p = 0x7000001ff;
	printf("%d %d %d %d\n", this->p->a, this->p->b, this->p->c, this->p->d);
	this->p->b = 2;
	printf("%x\n", *(uint32_t *)this->p);
	exit(0);
}
