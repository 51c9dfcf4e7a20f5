BEGIN
{
	printf("[%c%5c%-5c%05c%.5c]", (char)0x41, (char)0x41, (char)0x41, (char)0x41, (char)0x41);
	printf("[%c%5c%-5c%05c%.5c]", (char)0x0, (char)0x0, (char)0x0, (char)0x0, (char)0x0);
	printf("[%c%5c%-5c%05c%.5c]", (char)0x2c, (char)0x2c, (char)0x2c, (char)0x2c, (char)0x2c);
	printf("[%c%5c%-5c%05c%.5c]", (char)0xff, (char)0xff, (char)0xff, (char)0xff, (char)0xff);
	printf("[%c%5c%-5c%05c%.5c]", (short)0x41, (short)0x41, (short)0x41, (short)0x41, (short)0x41);
	printf("[%c%5c%-5c%05c%.5c]", (short)0x0, (short)0x0, (short)0x0, (short)0x0, (short)0x0);
	printf("[%c%5c%-5c%05c%.5c]", (short)0x12c, (short)0x12c, (short)0x12c, (short)0x12c, (short)0x12c);
	printf("[%c%5c%-5c%05c%.5c]", (short)0xffff, (short)0xffff, (short)0xffff, (short)0xffff, (short)0xffff);
	printf("[%c%5c%-5c%05c%.5c]", (int)0x41, (int)0x41, (int)0x41, (int)0x41, (int)0x41);
	printf("[%c%5c%-5c%05c%.5c]", (int)0x0, (int)0x0, (int)0x0, (int)0x0, (int)0x0);
	printf("[%c%5c%-5c%05c%.5c]", (int)0x12c, (int)0x12c, (int)0x12c, (int)0x12c, (int)0x12c);
	printf("[%c%5c%-5c%05c%.5c]", (int)0xffffffff, (int)0xffffffff, (int)0xffffffff, (int)0xffffffff, (int)0xffffffff);
}
BEGIN
{
	printf("[%C%5C%-5C%.1C]", (char)0x41, (char)0x41, (char)0x41, (char)0x41);
	printf("[%C%5C%-5C%.1C]", (char)0x0, (char)0x0, (char)0x0, (char)0x0);
	printf("[%C%5C%-5C%.1C]", (char)0xa, (char)0xa, (char)0xa, (char)0xa);
	printf("[%C%5C%-5C%.1C]", (char)0x22, (char)0x22, (char)0x22, (char)0x22);
	printf("[%C%5C%-5C%.1C]", (char)0x5c, (char)0x5c, (char)0x5c, (char)0x5c);
	printf("[%C%5C%-5C%.1C]", (char)0xc8, (char)0xc8, (char)0xc8, (char)0xc8);
	printf("[%C%5C%-5C%.1C]", (char)0x7f, (char)0x7f, (char)0x7f, (char)0x7f);
	printf("[%C%5C%-5C%.1C]", (char)0x2c, (char)0x2c, (char)0x2c, (char)0x2c);
	printf("[%C%5C%-5C%.1C]", (char)0xff, (char)0xff, (char)0xff, (char)0xff);
	printf("[%C%5C%-5C%.1C]", (unsigned short)0x41, (unsigned short)0x41, (unsigned short)0x41, (unsigned short)0x41);
	printf("[%C%5C%-5C%.1C]", (unsigned short)0x0, (unsigned short)0x0, (unsigned short)0x0, (unsigned short)0x0);
	printf("[%C%5C%-5C%.1C]", (unsigned short)0xa, (unsigned short)0xa, (unsigned short)0xa, (unsigned short)0xa);
	printf("[%C%5C%-5C%.1C]", (unsigned short)0x22, (unsigned short)0x22, (unsigned short)0x22, (unsigned short)0x22);
	printf("[%C%5C%-5C%.1C]", (unsigned short)0x5c, (unsigned short)0x5c, (unsigned short)0x5c, (unsigned short)0x5c);
	printf("[%C%5C%-5C%.1C]", (unsigned short)0xc8, (unsigned short)0xc8, (unsigned short)0xc8, (unsigned short)0xc8);
	printf("[%C%5C%-5C%.1C]", (unsigned short)0x7f, (unsigned short)0x7f, (unsigned short)0x7f, (unsigned short)0x7f);
	printf("[%C%5C%-5C%.1C]", (unsigned short)0x12c, (unsigned short)0x12c, (unsigned short)0x12c, (unsigned short)0x12c);
	printf("[%C%5C%-5C%.1C]", (unsigned short)0xffff, (unsigned short)0xffff, (unsigned short)0xffff, (unsigned short)0xffff);
	printf("[%C%5C%-5C%.1C]", (int)0x41, (int)0x41, (int)0x41, (int)0x41);
	printf("[%C%5C%-5C%.1C]", (int)0x0, (int)0x0, (int)0x0, (int)0x0);
	printf("[%C%5C%-5C%.1C]", (int)0xa, (int)0xa, (int)0xa, (int)0xa);
	printf("[%C%5C%-5C%.1C]", (int)0x22, (int)0x22, (int)0x22, (int)0x22);
	printf("[%C%5C%-5C%.1C]", (int)0x5c, (int)0x5c, (int)0x5c, (int)0x5c);
	printf("[%C%5C%-5C%.1C]", (int)0xc8, (int)0xc8, (int)0xc8, (int)0xc8);
	printf("[%C%5C%-5C%.1C]", (int)0x7f, (int)0x7f, (int)0x7f, (int)0x7f);
	printf("[%C%5C%-5C%.1C]", (int)0x12c, (int)0x12c, (int)0x12c, (int)0x12c);
	printf("[%C%5C%-5C%.1C]", (int)0xffffffff, (int)0xffffffff, (int)0xffffffff, (int)0xffffffff);
}
BEGIN
{
	printf("[%Y|%T|%30Y|%-40T|%.4Y]", (long)0x0, (long)0x0, (long)0x0, (long)0x0, (long)0x0);
	printf("[%Y|%T|%30Y|%-40T|%.4Y]", (long)0x1, (long)0x1, (long)0x1, (long)0x1, (long)0x1);
	printf("[%Y|%T|%30Y|%-40T|%.4Y]", (long)0xde0b6b3a7640000, (long)0xde0b6b3a7640000, (long)0xde0b6b3a7640000, (long)0xde0b6b3a7640000, (long)0xde0b6b3a7640000);
	printf("[%Y|%T|%30Y|%-40T|%.4Y]", (long)0x112210f47de98115, (long)0x112210f47de98115, (long)0x112210f47de98115, (long)0x112210f47de98115, (long)0x112210f47de98115);
	printf("[%Y|%T|%30Y|%-40T|%.4Y]", (long)0x7fffffffffffffff, (long)0x7fffffffffffffff, (long)0x7fffffffffffffff, (long)0x7fffffffffffffff, (long)0x7fffffffffffffff);
	printf("[%Y|%T|%30Y|%-40T|%.4Y]", (long)0xffffffffffffffff, (long)0xffffffffffffffff, (long)0xffffffffffffffff, (long)0xffffffffffffffff, (long)0xffffffffffffffff);
}
BEGIN
{
	printf("[%*d|%-*d|%0*d|%.*d|%*.*d|%-*.*x|%*s|%.*s]", (int)0x0, (int)0x7, (int)0x0, (int)0xfffffff9, (int)0x0, (int)0x7, (int)0x0, (int)0x7, (short)0x0, (char)0x3, (int)0x7, (int)0x0, (int)0x2, (int)0x7, (int)0x0, "abc", (int)0x0, "abcdefgh");
	printf("[%*d|%-*d|%0*d|%.*d|%*.*d|%-*.*x|%*s|%.*s]", (int)0x1, (int)0x7, (int)0x1, (int)0xfffffff9, (int)0x1, (int)0x7, (int)0x1, (int)0x7, (short)0x1, (char)0x3, (int)0x7, (int)0x1, (int)0x2, (int)0x7, (int)0x1, "abc", (int)0x1, "abcdefgh");
	printf("[%*d|%-*d|%0*d|%.*d|%*.*d|%-*.*x|%*s|%.*s]", (int)0x5, (int)0x7, (int)0x5, (int)0xfffffff9, (int)0x5, (int)0x7, (int)0x5, (int)0x7, (short)0x5, (char)0x3, (int)0x7, (int)0x5, (int)0x2, (int)0x7, (int)0x5, "abc", (int)0x5, "abcdefgh");
	printf("[%*d|%-*d|%0*d|%.*d|%*.*d|%-*.*x|%*s|%.*s]", (int)0xfffffffb, (int)0x7, (int)0xfffffffb, (int)0xfffffff9, (int)0xfffffffb, (int)0x7, (int)0xfffffffb, (int)0x7, (short)0xfffb, (char)0x3, (int)0x7, (int)0xfffffffb, (int)0x2, (int)0x7, (int)0xfffffffb, "abc", (int)0xfffffffb, "abcdefgh");
	printf("[%*d|%-*d|%0*d|%.*d|%*.*d|%-*.*x|%*s|%.*s]", (int)0xc, (int)0x7, (int)0xc, (int)0xfffffff9, (int)0xc, (int)0x7, (int)0xc, (int)0x7, (short)0xc, (char)0x3, (int)0x7, (int)0xc, (int)0x2, (int)0x7, (int)0xc, "abc", (int)0xc, "abcdefgh");
}
BEGIN
{
	printf("[%hd %hi %ho %hu %hx %hX]", (short)0xfffe, (short)0x3, (unsigned short)0x8, (unsigned short)0xffff, (short)0xffff, (unsigned short)0xff);
	printf("[%ld %li %lo %lu %lx %lX]", (long)0xfffffffffffffffe, (int64_t)0x3, (unsigned long)0x8, (uint64_t)0xffffffffffffffff, (long)0xffffffffffffffff, (unsigned long)0xff);
	printf("[%lld %lli %llo %llu %llx %llX]", (long long)0xfffffffffffffffe, (int64_t)0x3, (unsigned long long)0x8, (uint64_t)0xffffffffffffffff, (long long)0xffffffffffffffff, (int64_t)0xff);
	printf("%%");
	printf("a%%b%d%%c%%%%", (int)0x3);
	printf("\303\251 \001\012");
}
BEGIN
{
	exit(0);
}
