/*
 * Which caches are hit how often, and which keys are missed most?
 *
 *     pydtrace -q -s scripts/cache-hits.d   (until Ctrl-C)
 *
 * Prints, for instance:
 *
 *       users                asked       10  hits        7
 *     missed most:
 *       users                user 9                        2
 *
 * Which arguments mean what: scripts/README.md.
 */

pyusdt*:::user_trace-n2
{
	@asked[copyinstr(arg6)] = count();
	@hits[copyinstr(arg6)] = sum(arg2 != 0);
}

pyusdt*:::user_trace-n2
/arg2 == 0/
{
	@missed[copyinstr(arg6), copyinstr(arg7)] = count();
}

END
{
	printa("  %-20s asked %@8d  hits %@8d\n", @asked, @hits);
	trunc(@asked);
	trunc(@hits);
	trunc(@missed, 10);
	printf("missed most:\n");
	printa("  %-20s %-20s %@8d\n", @missed);
	trunc(@missed);
}
