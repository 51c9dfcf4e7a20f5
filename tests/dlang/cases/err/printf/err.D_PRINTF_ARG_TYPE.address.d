BEGIN
{
	printf("%s\n", arg0);
}
