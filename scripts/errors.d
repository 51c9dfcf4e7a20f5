/*
 * Which routes fail, with which status, and how often?
 *
 *     pydtrace -q -s scripts/errors.d   (until Ctrl-C)
 *
 * Prints, for instance:
 *
 *       /broken                         500          3
 *     operations: 15, failed: 3 (20 %)
 *
 * Which arguments mean what: scripts/README.md.
 */

pyusdt*:::user_trace-i4s4
/arg2 == 1/
{
	total++;
}

pyusdt*:::user_trace-i4s4
/arg2 == 1 && arg4 >= 400/
{
	failed++;
	@by[copyinstr(arg6), arg4] = count();
}

END
{
	printa("  %-30s %5d %@10d\n", @by);
	printf("operations: %d, failed: %d (%d %%)\n", total, failed, total ? 100 * failed / total : 0);
	trunc(@by);
}
