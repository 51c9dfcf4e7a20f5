int c;
int *p;
BEGIN
{
	p = c ? alloca(4) : NULL;
}
