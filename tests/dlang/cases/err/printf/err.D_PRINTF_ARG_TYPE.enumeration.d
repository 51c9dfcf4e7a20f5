enum e { B = 3 } g;
BEGIN
{
	printf("%lx", g);
}
