/*
 * How many operations end each second, over time?
 *
 *     pydtrace -q -s scripts/throughput.d   (until Ctrl-C)
 *
 * Prints, for instance:
 *
 *     second 1: 812
 *     second 2: 790
 *
 * Which arguments mean what: scripts/README.md.
 */

int64_t all;

pyusdt*:::user_trace-i4s4
/arg2 == 1/
{
	n++;
}

tick-1s
{
	printf("second %d: %d\n", ++second, n);
	all += n;
	n = 0;
}

END
{
	printf("since then: %d, in all: %d\n", n, all + n);
}
