/* program: events.py
 * options: -q
 * Enumerations are unsigned where a format or trace() prints them, and have their sign as keys by themselves. */
enum shade { DARK = -7, LIGHT = 3 };
enum shade g;

BEGIN
{
	g = DARK;
	printf("%d %u %x %p %a %5d|%c %hd %lld %llu %ho\n", g, g, DARK, DARK, g, LIGHT, (enum shade)65, g, DARK, g, g);
	trace(g);
	trace(DARK);
	trace(lltostr(g));
	@a[g] = count();
	@b[DARK, g] = sum(g);
	@c["x"] = max(g);
	@d = avg(DARK);
	@e = quantize(g);
	printa(@a);
	printa(@b);
	printa("%d %@d\n", @a);
	printa("%x %lld %@u\n", @b);
}

pyusdt$target:::user_trace-n1
{
	exit(0);
}
