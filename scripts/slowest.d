/*
 * What were the ten slowest, by route and tag?
 *
 *     pydtrace -q -s scripts/slowest.d   (until Ctrl-C)
 *
 * Prints, for instance:
 *
 *     the slowest operations, by route and tag
 *       /index.html        order 3             1 ms
 *       /slow              order 7            27 ms
 *
 * Which arguments mean what: scripts/README.md.
 */

pyusdt*:::user_trace-i4s4
/arg2 == 0/
{
	started[pid, arg3] = timestamp;
}

pyusdt*:::user_trace-i4s4
/arg2 == 1 && started[pid, arg3]/
{
	@worst_ms[copyinstr(arg6), arg1 ? copyinstr(arg1) : ""] = max((timestamp - started[pid, arg3]) / 1000000);
	started[pid, arg3] = 0;
}

END
{
	trunc(@worst_ms, 10);
	printf("the slowest operations, by route and tag\n");
	printa("  %-30s %-30s %@8d ms\n", @worst_ms);
	trunc(@worst_ms);
}
