BEGIN
{
	printf("%d %s\n", arg0, copyinstr(argO));
}
