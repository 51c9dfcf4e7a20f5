/*
 * A member of a translation has the member's type, not that of what it is made of.
 */
struct T { int ti; long tl; };
translator struct T < int V > { ti = V + 1; tl = V * 3; };
int v;
long l;
BEGIN
{
	v = -838860801;
	l = (xlate <struct T> (v)).tl;
	printf("%d %d\n", (xlate <struct T> (v)).tl, l);
	printf("%d %ld\n", (xlate <struct T *> (v))->tl, (xlate <struct T> (v)).tl);
	printf("%d %d\n", (xlate <struct T> (v)).ti, (xlate <struct T> (0x7fffffff)).ti);
	exit(0);
}
