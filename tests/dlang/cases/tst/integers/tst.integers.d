/* Signs, widths and conversions: registers are 64 bits wide, variables and casts cut. */
#pragma D option quiet
char c; short s; int i; long l; unsigned char uc; unsigned short us; unsigned int u; unsigned long ul;
BEGIN {
	i = 0x7fffffff; u = 0xffffffff; c = 200; s = -1; l = -5; uc = 255; us = 65535; ul = -1;
	printf("%d %d %d\n", i + 1, (i + 1) > 0, (i + 1) / 2);
	printf("%d %d %d\n", u + 1, (u + 1) == 0, (u + 1) >> 1);
	printf("%d %d %d\n", c, c + 100, s >> 1);
	printf("%d %d %d\n", -7 / 2, -7 % 3, l / 2);
	printf("%d %d %d\n", 1 << 31, 1 << 32, 1 << -1);
	printf("%d %d %d\n", s < u, l < u, s == u);
	printf("%d %d %x %x\n", ~0, !5, -u, ~uc);
	printf("%d %d %d\n", (char)300, (unsigned short)i, (int)(u + 1));
	printf("%d %d\n", 3 ^^ 0, 3 ^^ 4);
	printf("%d %d %d\n", l / u, l % ul, ul / 3);
	printf("%d %d\n", i * i, (long)i * i);
	uc++; us++; u++; printf("%d %d %d\n", uc, us, u);
	l = -9223372036854775807 - 1; printf("%d %d %d\n", l / -1, l % -1, -l);
	i = 7; printf("%d %d %d %d\n", i++, ++i, i--, --i);
	i += 5; i <<= 3; i ^= 1; i %= 50; printf("%d\n", i);
	printf("%d %d\n", i ? 1 : 0, (1, 2, 3));
	exit(0);
}
