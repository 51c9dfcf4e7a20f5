/*
 * How many operations run at the same time?
 *
 *     pydtrace -q -s scripts/in-flight.d   (until Ctrl-C)
 *
 * Prints, for instance:
 *
 *                value  ------------- Distribution ------------- count
 *                    0 |                                         0
 *                    1 |@@@@@@@@@@@@@@@@@@@@                     6
 *                    2 |@@@@@@@@@@@@@@@@@@@@                     6
 *                    3 |                                         0
 *
 * Which arguments mean what: scripts/README.md.
 */

pyusdt*:::user_trace-i4s4
/arg2 == 0/
{
	running[pid]++;
	@at_once["running when another starts"] = lquantize(running[pid], 0, 100, 1);
	@most["most at once"] = max(running[pid]);
}

pyusdt*:::user_trace-i4s4
/arg2 == 1 && running[pid] > 0/
{
	running[pid]--;
}
