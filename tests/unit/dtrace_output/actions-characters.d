/* Wide characters; dtrace prints those of ASCII. */
BEGIN
{
	printf("[%lc] [%5lc] [%-4lc] [%.1lc]\n", 65, 66, 67, 68);
	exit(0);
}
