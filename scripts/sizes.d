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
	@mean_bytes[copyinstr(arg6)] = avg(arg5);
	@largest_bytes[copyinstr(arg6)] = max(arg5);
	@all_bytes[copyinstr(arg6)] = sum(arg5);
}

END
{
	printa("  %-30s average %@8d  largest %@8d  in all %@8d\n", @mean_bytes, @largest_bytes, @all_bytes);
	trunc(@mean_bytes);
	trunc(@largest_bytes);
	trunc(@all_bytes);
}
