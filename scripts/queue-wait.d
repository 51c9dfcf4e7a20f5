/*
 * How long do jobs wait in a queue before they are taken?
 *
 *     pydtrace -q -s scripts/queue-wait.d   (until Ctrl-C)
 *
 * Prints, for instance:
 *
 *     milliseconds that jobs waited, by queue
 *
 *       jobs
 *                value  ------------- Distribution ------------- count
 *                    8 |                                         0
 *                   16 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@ 1
 *                   32 |                                         0
 *
 * Which arguments mean what: scripts/README.md.
 */

pyusdt*:::user_trace-n1
/arg2 > 0/
{
	put[copyinstr(arg6), arg4] = timestamp;
}

pyusdt*:::user_trace-n1
/arg2 < 0 && put[copyinstr(arg6), arg4]/
{
	@ms[copyinstr(arg6)] = quantize((timestamp - put[copyinstr(arg6), arg4]) / 1000000);
	put[copyinstr(arg6), arg4] = 0;
}

END
{
	printf("milliseconds that jobs waited, by queue\n");
}
