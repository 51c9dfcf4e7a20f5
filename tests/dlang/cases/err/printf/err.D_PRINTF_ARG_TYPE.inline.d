inline long L = 5;
BEGIN
{
	printf("%ld", L);
}
