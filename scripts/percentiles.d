/*
 * Which latency do all but a few operations of a route stay under? (Fine buckets, to read percentiles from.)
 *
 *     pydtrace -q -s scripts/percentiles.d   (until Ctrl-C; with --json each bucket is a pair of bounds and a count)
 *
 * Prints, for instance:
 *
 *     milliseconds from start to end, by route
 *
 *       /slow
 *                value  ------------- Distribution ------------- count
 *                   10 |                                         0
 *                   20 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@ 3
 *                   30 |                                         0
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
	@ms[copyinstr(arg6)] = llquantize((timestamp - started[pid, arg3]) / 1000000, 10, 0, 4, 10);
	started[pid, arg3] = 0;
}

END
{
	printf("milliseconds from start to end, by route\n");
}
