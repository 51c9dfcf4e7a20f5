/* Arrays and structs as keys: integers where they have an integer's size, else text or a table of bytes. */
struct five { char a[5]; } t5;
struct eight { char a[8]; } t8;
char c1[1], c2[2], c4[4], c5[5], c8[8], c33[33];
unsigned char u6[6];
int ints[3], two[2];

BEGIN
{
	@s[t5] = count();
	t5.a[0] = 'a';
	@s[t5] = count();
	t5.a[0] = 0; t5.a[1] = 'b';
	@s[t5] = count();
	t8.a[0] = 'a';
	@t[t8] = count();
	ints[0] = 0x4142;
	@i[ints] = count();
	ints[1] = 3;
	@i[ints] = count();
	u6[0] = 65; u6[1] = 32; u6[2] = 7;
	@u[u6] = count();
	two[1] = -3;
	@w[two, "q"] = count();
	c1[0] = 200; c2[1] = 'z'; c4[3] = 'z';
	@n[c1, c2, c4] = sum(4);
}

BEGIN
{
	c5[0] = 9; c5[1] = 'A';
	@f[c5] = count();
	c5[0] = 27;
	@f[c5] = count();
	c5[0] = 65; c5[2] = 66; c5[3] = 67;
	@f[c5] = count();
	c5[4] = 68;
	@f[c5] = count();
	c33[0] = 'l'; c33[1] = 'o';
	@l["x", c33, 5] = quantize(5);
	c33[32] = 'z';
	@l["x", c33, 5] = quantize(6);
	c8[0] = 65;
	@e[c8, 3] = max(4);
	c8[7] = 66;
	@e[c8, 4] = max(5);
}

BEGIN
{
	c5[4] = 0;
	x[c5] = 1;
	c5[3] = 0;
	x[c5] = 2;
	self->y[two, c5] = 7;
	this->two = self->y[two, c5];
	two[1] = 0;
	printf("%d %d %d\n", x[c5], this->two, self->y[two, c5]);
	exit(0);
}
