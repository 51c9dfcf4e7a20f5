int c;
BEGIN
{
	s = c ? "a" : NULL;
}
