BEGIN
{
	printf("[%d %i %u %o %x %X %p]", (char)0x0, (char)0x0, (char)0x0, (char)0x0, (char)0x0, (char)0x0, (char)0x0);
	printf("[%d %i %u %o %x %X %p]", (char)0x1, (char)0x1, (char)0x1, (char)0x1, (char)0x1, (char)0x1, (char)0x1);
	printf("[%d %i %u %o %x %X %p]", (char)0xff, (char)0xff, (char)0xff, (char)0xff, (char)0xff, (char)0xff, (char)0xff);
	printf("[%d %i %u %o %x %X %p]", (char)0x80, (char)0x80, (char)0x80, (char)0x80, (char)0x80, (char)0x80, (char)0x80);
	printf("[%d %i %u %o %x %X %p]", (char)0x7f, (char)0x7f, (char)0x7f, (char)0x7f, (char)0x7f, (char)0x7f, (char)0x7f);
	printf("[%d %i %u %o %x %X %p]", (char)0x41, (char)0x41, (char)0x41, (char)0x41, (char)0x41, (char)0x41, (char)0x41);
}
BEGIN
{
	printf("[%d %i %u %o %x %X %p]", (unsigned char)0x0, (unsigned char)0x0, (unsigned char)0x0, (unsigned char)0x0, (unsigned char)0x0, (unsigned char)0x0, (unsigned char)0x0);
	printf("[%d %i %u %o %x %X %p]", (unsigned char)0x1, (unsigned char)0x1, (unsigned char)0x1, (unsigned char)0x1, (unsigned char)0x1, (unsigned char)0x1, (unsigned char)0x1);
	printf("[%d %i %u %o %x %X %p]", (unsigned char)0xff, (unsigned char)0xff, (unsigned char)0xff, (unsigned char)0xff, (unsigned char)0xff, (unsigned char)0xff, (unsigned char)0xff);
	printf("[%d %i %u %o %x %X %p]", (unsigned char)0x80, (unsigned char)0x80, (unsigned char)0x80, (unsigned char)0x80, (unsigned char)0x80, (unsigned char)0x80, (unsigned char)0x80);
	printf("[%d %i %u %o %x %X %p]", (unsigned char)0x7f, (unsigned char)0x7f, (unsigned char)0x7f, (unsigned char)0x7f, (unsigned char)0x7f, (unsigned char)0x7f, (unsigned char)0x7f);
	printf("[%d %i %u %o %x %X %p]", (unsigned char)0x41, (unsigned char)0x41, (unsigned char)0x41, (unsigned char)0x41, (unsigned char)0x41, (unsigned char)0x41, (unsigned char)0x41);
}
BEGIN
{
	printf("[%d %i %u %o %x %X %p]", (short)0x0, (short)0x0, (short)0x0, (short)0x0, (short)0x0, (short)0x0, (short)0x0);
	printf("[%d %i %u %o %x %X %p]", (short)0x1, (short)0x1, (short)0x1, (short)0x1, (short)0x1, (short)0x1, (short)0x1);
	printf("[%d %i %u %o %x %X %p]", (short)0xffff, (short)0xffff, (short)0xffff, (short)0xffff, (short)0xffff, (short)0xffff, (short)0xffff);
	printf("[%d %i %u %o %x %X %p]", (short)0x8000, (short)0x8000, (short)0x8000, (short)0x8000, (short)0x8000, (short)0x8000, (short)0x8000);
	printf("[%d %i %u %o %x %X %p]", (short)0x7fff, (short)0x7fff, (short)0x7fff, (short)0x7fff, (short)0x7fff, (short)0x7fff, (short)0x7fff);
	printf("[%d %i %u %o %x %X %p]", (short)0x41, (short)0x41, (short)0x41, (short)0x41, (short)0x41, (short)0x41, (short)0x41);
}
BEGIN
{
	printf("[%d %i %u %o %x %X %p]", (unsigned short)0x0, (unsigned short)0x0, (unsigned short)0x0, (unsigned short)0x0, (unsigned short)0x0, (unsigned short)0x0, (unsigned short)0x0);
	printf("[%d %i %u %o %x %X %p]", (unsigned short)0x1, (unsigned short)0x1, (unsigned short)0x1, (unsigned short)0x1, (unsigned short)0x1, (unsigned short)0x1, (unsigned short)0x1);
	printf("[%d %i %u %o %x %X %p]", (unsigned short)0xffff, (unsigned short)0xffff, (unsigned short)0xffff, (unsigned short)0xffff, (unsigned short)0xffff, (unsigned short)0xffff, (unsigned short)0xffff);
	printf("[%d %i %u %o %x %X %p]", (unsigned short)0x8000, (unsigned short)0x8000, (unsigned short)0x8000, (unsigned short)0x8000, (unsigned short)0x8000, (unsigned short)0x8000, (unsigned short)0x8000);
	printf("[%d %i %u %o %x %X %p]", (unsigned short)0x7fff, (unsigned short)0x7fff, (unsigned short)0x7fff, (unsigned short)0x7fff, (unsigned short)0x7fff, (unsigned short)0x7fff, (unsigned short)0x7fff);
	printf("[%d %i %u %o %x %X %p]", (unsigned short)0x41, (unsigned short)0x41, (unsigned short)0x41, (unsigned short)0x41, (unsigned short)0x41, (unsigned short)0x41, (unsigned short)0x41);
}
BEGIN
{
	printf("[%d %i %u %o %x %X %p]", (int)0x0, (int)0x0, (int)0x0, (int)0x0, (int)0x0, (int)0x0, (int)0x0);
	printf("[%d %i %u %o %x %X %p]", (int)0x1, (int)0x1, (int)0x1, (int)0x1, (int)0x1, (int)0x1, (int)0x1);
	printf("[%d %i %u %o %x %X %p]", (int)0xffffffff, (int)0xffffffff, (int)0xffffffff, (int)0xffffffff, (int)0xffffffff, (int)0xffffffff, (int)0xffffffff);
	printf("[%d %i %u %o %x %X %p]", (int)0x80000000, (int)0x80000000, (int)0x80000000, (int)0x80000000, (int)0x80000000, (int)0x80000000, (int)0x80000000);
	printf("[%d %i %u %o %x %X %p]", (int)0x7fffffff, (int)0x7fffffff, (int)0x7fffffff, (int)0x7fffffff, (int)0x7fffffff, (int)0x7fffffff, (int)0x7fffffff);
	printf("[%d %i %u %o %x %X %p]", (int)0x41, (int)0x41, (int)0x41, (int)0x41, (int)0x41, (int)0x41, (int)0x41);
}
BEGIN
{
	printf("[%d %i %u %o %x %X %p]", (unsigned int)0x0, (unsigned int)0x0, (unsigned int)0x0, (unsigned int)0x0, (unsigned int)0x0, (unsigned int)0x0, (unsigned int)0x0);
	printf("[%d %i %u %o %x %X %p]", (unsigned int)0x1, (unsigned int)0x1, (unsigned int)0x1, (unsigned int)0x1, (unsigned int)0x1, (unsigned int)0x1, (unsigned int)0x1);
	printf("[%d %i %u %o %x %X %p]", (unsigned int)0xffffffff, (unsigned int)0xffffffff, (unsigned int)0xffffffff, (unsigned int)0xffffffff, (unsigned int)0xffffffff, (unsigned int)0xffffffff, (unsigned int)0xffffffff);
	printf("[%d %i %u %o %x %X %p]", (unsigned int)0x80000000, (unsigned int)0x80000000, (unsigned int)0x80000000, (unsigned int)0x80000000, (unsigned int)0x80000000, (unsigned int)0x80000000, (unsigned int)0x80000000);
	printf("[%d %i %u %o %x %X %p]", (unsigned int)0x7fffffff, (unsigned int)0x7fffffff, (unsigned int)0x7fffffff, (unsigned int)0x7fffffff, (unsigned int)0x7fffffff, (unsigned int)0x7fffffff, (unsigned int)0x7fffffff);
	printf("[%d %i %u %o %x %X %p]", (unsigned int)0x41, (unsigned int)0x41, (unsigned int)0x41, (unsigned int)0x41, (unsigned int)0x41, (unsigned int)0x41, (unsigned int)0x41);
}
BEGIN
{
	printf("[%d %i %u %o %x %X %p]", (long)0x0, (long)0x0, (long)0x0, (long)0x0, (long)0x0, (long)0x0, (long)0x0);
	printf("[%d %i %u %o %x %X %p]", (long)0x1, (long)0x1, (long)0x1, (long)0x1, (long)0x1, (long)0x1, (long)0x1);
	printf("[%d %i %u %o %x %X %p]", (long)0xffffffffffffffff, (long)0xffffffffffffffff, (long)0xffffffffffffffff, (long)0xffffffffffffffff, (long)0xffffffffffffffff, (long)0xffffffffffffffff, (long)0xffffffffffffffff);
	printf("[%d %i %u %o %x %X %p]", (long)0x8000000000000000, (long)0x8000000000000000, (long)0x8000000000000000, (long)0x8000000000000000, (long)0x8000000000000000, (long)0x8000000000000000, (long)0x8000000000000000);
	printf("[%d %i %u %o %x %X %p]", (long)0x7fffffffffffffff, (long)0x7fffffffffffffff, (long)0x7fffffffffffffff, (long)0x7fffffffffffffff, (long)0x7fffffffffffffff, (long)0x7fffffffffffffff, (long)0x7fffffffffffffff);
	printf("[%d %i %u %o %x %X %p]", (long)0x41, (long)0x41, (long)0x41, (long)0x41, (long)0x41, (long)0x41, (long)0x41);
}
BEGIN
{
	printf("[%d %i %u %o %x %X %p]", (unsigned long)0x0, (unsigned long)0x0, (unsigned long)0x0, (unsigned long)0x0, (unsigned long)0x0, (unsigned long)0x0, (unsigned long)0x0);
	printf("[%d %i %u %o %x %X %p]", (unsigned long)0x1, (unsigned long)0x1, (unsigned long)0x1, (unsigned long)0x1, (unsigned long)0x1, (unsigned long)0x1, (unsigned long)0x1);
	printf("[%d %i %u %o %x %X %p]", (unsigned long)0xffffffffffffffff, (unsigned long)0xffffffffffffffff, (unsigned long)0xffffffffffffffff, (unsigned long)0xffffffffffffffff, (unsigned long)0xffffffffffffffff, (unsigned long)0xffffffffffffffff, (unsigned long)0xffffffffffffffff);
	printf("[%d %i %u %o %x %X %p]", (unsigned long)0x8000000000000000, (unsigned long)0x8000000000000000, (unsigned long)0x8000000000000000, (unsigned long)0x8000000000000000, (unsigned long)0x8000000000000000, (unsigned long)0x8000000000000000, (unsigned long)0x8000000000000000);
	printf("[%d %i %u %o %x %X %p]", (unsigned long)0x7fffffffffffffff, (unsigned long)0x7fffffffffffffff, (unsigned long)0x7fffffffffffffff, (unsigned long)0x7fffffffffffffff, (unsigned long)0x7fffffffffffffff, (unsigned long)0x7fffffffffffffff, (unsigned long)0x7fffffffffffffff);
	printf("[%d %i %u %o %x %X %p]", (unsigned long)0x41, (unsigned long)0x41, (unsigned long)0x41, (unsigned long)0x41, (unsigned long)0x41, (unsigned long)0x41, (unsigned long)0x41);
}
BEGIN
{
	printf("[%d %i %u %o %x %X %p]", (long long)0x0, (long long)0x0, (long long)0x0, (long long)0x0, (long long)0x0, (long long)0x0, (long long)0x0);
	printf("[%d %i %u %o %x %X %p]", (long long)0x1, (long long)0x1, (long long)0x1, (long long)0x1, (long long)0x1, (long long)0x1, (long long)0x1);
	printf("[%d %i %u %o %x %X %p]", (long long)0xffffffffffffffff, (long long)0xffffffffffffffff, (long long)0xffffffffffffffff, (long long)0xffffffffffffffff, (long long)0xffffffffffffffff, (long long)0xffffffffffffffff, (long long)0xffffffffffffffff);
	printf("[%d %i %u %o %x %X %p]", (long long)0x8000000000000000, (long long)0x8000000000000000, (long long)0x8000000000000000, (long long)0x8000000000000000, (long long)0x8000000000000000, (long long)0x8000000000000000, (long long)0x8000000000000000);
	printf("[%d %i %u %o %x %X %p]", (long long)0x7fffffffffffffff, (long long)0x7fffffffffffffff, (long long)0x7fffffffffffffff, (long long)0x7fffffffffffffff, (long long)0x7fffffffffffffff, (long long)0x7fffffffffffffff, (long long)0x7fffffffffffffff);
	printf("[%d %i %u %o %x %X %p]", (long long)0x41, (long long)0x41, (long long)0x41, (long long)0x41, (long long)0x41, (long long)0x41, (long long)0x41);
}
BEGIN
{
	printf("[%d %i %u %o %x %X %p]", (unsigned long long)0x0, (unsigned long long)0x0, (unsigned long long)0x0, (unsigned long long)0x0, (unsigned long long)0x0, (unsigned long long)0x0, (unsigned long long)0x0);
	printf("[%d %i %u %o %x %X %p]", (unsigned long long)0x1, (unsigned long long)0x1, (unsigned long long)0x1, (unsigned long long)0x1, (unsigned long long)0x1, (unsigned long long)0x1, (unsigned long long)0x1);
	printf("[%d %i %u %o %x %X %p]", (unsigned long long)0xffffffffffffffff, (unsigned long long)0xffffffffffffffff, (unsigned long long)0xffffffffffffffff, (unsigned long long)0xffffffffffffffff, (unsigned long long)0xffffffffffffffff, (unsigned long long)0xffffffffffffffff, (unsigned long long)0xffffffffffffffff);
	printf("[%d %i %u %o %x %X %p]", (unsigned long long)0x8000000000000000, (unsigned long long)0x8000000000000000, (unsigned long long)0x8000000000000000, (unsigned long long)0x8000000000000000, (unsigned long long)0x8000000000000000, (unsigned long long)0x8000000000000000, (unsigned long long)0x8000000000000000);
	printf("[%d %i %u %o %x %X %p]", (unsigned long long)0x7fffffffffffffff, (unsigned long long)0x7fffffffffffffff, (unsigned long long)0x7fffffffffffffff, (unsigned long long)0x7fffffffffffffff, (unsigned long long)0x7fffffffffffffff, (unsigned long long)0x7fffffffffffffff, (unsigned long long)0x7fffffffffffffff);
	printf("[%d %i %u %o %x %X %p]", (unsigned long long)0x41, (unsigned long long)0x41, (unsigned long long)0x41, (unsigned long long)0x41, (unsigned long long)0x41, (unsigned long long)0x41, (unsigned long long)0x41);
}
BEGIN
{
	printf("[%d %i %u %o %x %X %p]", (int64_t)0x0, (int64_t)0x0, (int64_t)0x0, (int64_t)0x0, (int64_t)0x0, (int64_t)0x0, (int64_t)0x0);
	printf("[%d %i %u %o %x %X %p]", (int64_t)0x1, (int64_t)0x1, (int64_t)0x1, (int64_t)0x1, (int64_t)0x1, (int64_t)0x1, (int64_t)0x1);
	printf("[%d %i %u %o %x %X %p]", (int64_t)0xffffffffffffffff, (int64_t)0xffffffffffffffff, (int64_t)0xffffffffffffffff, (int64_t)0xffffffffffffffff, (int64_t)0xffffffffffffffff, (int64_t)0xffffffffffffffff, (int64_t)0xffffffffffffffff);
	printf("[%d %i %u %o %x %X %p]", (int64_t)0x8000000000000000, (int64_t)0x8000000000000000, (int64_t)0x8000000000000000, (int64_t)0x8000000000000000, (int64_t)0x8000000000000000, (int64_t)0x8000000000000000, (int64_t)0x8000000000000000);
	printf("[%d %i %u %o %x %X %p]", (int64_t)0x7fffffffffffffff, (int64_t)0x7fffffffffffffff, (int64_t)0x7fffffffffffffff, (int64_t)0x7fffffffffffffff, (int64_t)0x7fffffffffffffff, (int64_t)0x7fffffffffffffff, (int64_t)0x7fffffffffffffff);
	printf("[%d %i %u %o %x %X %p]", (int64_t)0x41, (int64_t)0x41, (int64_t)0x41, (int64_t)0x41, (int64_t)0x41, (int64_t)0x41, (int64_t)0x41);
}
BEGIN
{
	printf("[%d %i %u %o %x %X %p]", (pid_t)0x0, (pid_t)0x0, (pid_t)0x0, (pid_t)0x0, (pid_t)0x0, (pid_t)0x0, (pid_t)0x0);
	printf("[%d %i %u %o %x %X %p]", (pid_t)0x1, (pid_t)0x1, (pid_t)0x1, (pid_t)0x1, (pid_t)0x1, (pid_t)0x1, (pid_t)0x1);
	printf("[%d %i %u %o %x %X %p]", (pid_t)0xffffffff, (pid_t)0xffffffff, (pid_t)0xffffffff, (pid_t)0xffffffff, (pid_t)0xffffffff, (pid_t)0xffffffff, (pid_t)0xffffffff);
	printf("[%d %i %u %o %x %X %p]", (pid_t)0x80000000, (pid_t)0x80000000, (pid_t)0x80000000, (pid_t)0x80000000, (pid_t)0x80000000, (pid_t)0x80000000, (pid_t)0x80000000);
	printf("[%d %i %u %o %x %X %p]", (pid_t)0x7fffffff, (pid_t)0x7fffffff, (pid_t)0x7fffffff, (pid_t)0x7fffffff, (pid_t)0x7fffffff, (pid_t)0x7fffffff, (pid_t)0x7fffffff);
	printf("[%d %i %u %o %x %X %p]", (pid_t)0x41, (pid_t)0x41, (pid_t)0x41, (pid_t)0x41, (pid_t)0x41, (pid_t)0x41, (pid_t)0x41);
}
BEGIN
{
	exit(0);
}
