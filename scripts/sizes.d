/*
 * How large are the answers, route by route?
 *
 *     pydtrace -q -s scripts/sizes.d   (until Ctrl-C)
 *
 * Prints, for instance:
 *
 *       /index.html             average     1024  largest     2048  in all    20480
 *
 * Which arguments mean what: scripts/README.md.
 */

pyusdt*:::user_trace-i4s4
/arg2 == 1/
{
	@mean[copyinstr(arg6)] = avg(arg5);
	@largest[copyinstr(arg6)] = max(arg5);
	@all[copyinstr(arg6)] = sum(arg5);
}

END
{
	printa("  %-30s average %@8d  largest %@8d  in all %@8d\n", @mean, @largest, @all);
	trunc(@mean);
	trunc(@largest);
	trunc(@all);
}
