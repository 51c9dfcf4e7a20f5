int c;
void *p;
BEGIN
{
	s[1] = c ? p : "a";
}
