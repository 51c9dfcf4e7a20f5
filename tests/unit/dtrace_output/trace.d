BEGIN
{
	trace((int)0x1);
	trace("abc");
	trace("");
	trace((int)0x2);
}
BEGIN
{
	trace("tab\011here");
	trace("bell\007\010");
	trace("\303\251");
	trace((char)0x41);
}
BEGIN
{
	trace("012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789");
	printf("x");
	trace((int)0x5);
	printf("y\012");
	trace("z");
}
BEGIN
{
	trace("a\001");
	trace("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
	trace("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
	trace("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
}
BEGIN
{
	trace((char)0x0);
	trace((char)0x1);
	trace((char)0xff);
	trace((char)0x80);
	trace((char)0x7f);
	trace((char)0x41);
}
BEGIN
{
	trace((unsigned char)0x0);
	trace((unsigned char)0x1);
	trace((unsigned char)0xff);
	trace((unsigned char)0x80);
	trace((unsigned char)0x7f);
	trace((unsigned char)0x41);
}
BEGIN
{
	trace((short)0x0);
	trace((short)0x1);
	trace((short)0xffff);
	trace((short)0x8000);
	trace((short)0x7fff);
	trace((short)0x41);
}
BEGIN
{
	trace((unsigned short)0x0);
	trace((unsigned short)0x1);
	trace((unsigned short)0xffff);
	trace((unsigned short)0x8000);
	trace((unsigned short)0x7fff);
	trace((unsigned short)0x41);
}
BEGIN
{
	trace((int)0x0);
	trace((int)0x1);
	trace((int)0xffffffff);
	trace((int)0x80000000);
	trace((int)0x7fffffff);
	trace((int)0x41);
}
BEGIN
{
	trace((unsigned int)0x0);
	trace((unsigned int)0x1);
	trace((unsigned int)0xffffffff);
	trace((unsigned int)0x80000000);
	trace((unsigned int)0x7fffffff);
	trace((unsigned int)0x41);
}
BEGIN
{
	trace((long)0x0);
	trace((long)0x1);
	trace((long)0xffffffffffffffff);
	trace((long)0x8000000000000000);
	trace((long)0x7fffffffffffffff);
	trace((long)0x41);
}
BEGIN
{
	trace((unsigned long)0x0);
	trace((unsigned long)0x1);
	trace((unsigned long)0xffffffffffffffff);
	trace((unsigned long)0x8000000000000000);
	trace((unsigned long)0x7fffffffffffffff);
	trace((unsigned long)0x41);
}
BEGIN
{
	trace((long long)0x0);
	trace((long long)0x1);
	trace((long long)0xffffffffffffffff);
	trace((long long)0x8000000000000000);
	trace((long long)0x7fffffffffffffff);
	trace((long long)0x41);
}
BEGIN
{
	trace((unsigned long long)0x0);
	trace((unsigned long long)0x1);
	trace((unsigned long long)0xffffffffffffffff);
	trace((unsigned long long)0x8000000000000000);
	trace((unsigned long long)0x7fffffffffffffff);
	trace((unsigned long long)0x41);
}
BEGIN
{
	trace((int64_t)0x0);
	trace((int64_t)0x1);
	trace((int64_t)0xffffffffffffffff);
	trace((int64_t)0x8000000000000000);
	trace((int64_t)0x7fffffffffffffff);
	trace((int64_t)0x41);
}
BEGIN
{
	trace((pid_t)0x0);
	trace((pid_t)0x1);
	trace((pid_t)0xffffffff);
	trace((pid_t)0x80000000);
	trace((pid_t)0x7fffffff);
	trace((pid_t)0x41);
}
BEGIN
{
	printf("%s", "only");
	printf("\012");
}
BEGIN
{
	exit(0);
}
