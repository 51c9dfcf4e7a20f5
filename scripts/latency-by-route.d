/*
 * How long do operations take, route by route?
 *
 *     pydtrace -q -s scripts/latency-by-route.d   (until Ctrl-C)
 *
 * Prints, for instance:
 *
 *     milliseconds from start to end, by route
 *
 *       /index.html
 *                value  ------------- Distribution ------------- count
 *                    0 |                                         0
 *                    1 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@         16
 *                    2 |@@@@@@@@                                 4
 *                    4 |                                         0
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
	@ms[copyinstr(arg6)] = quantize((timestamp - started[pid, arg3]) / 1000000);
	started[pid, arg3] = 0;
}

END
{
	printf("milliseconds from start to end, by route\n");
}
