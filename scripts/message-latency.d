/*
 * How long are messages on their way from one process to another?
 *
 *     pydtrace -q -s scripts/message-latency.d   (until Ctrl-C)
 *
 * Prints, for instance:
 *
 *     milliseconds that messages were on their way, by channel
 *
 *       orders
 *                value  ------------- Distribution ------------- count
 *                    8 |                                         0
 *                   16 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@ 2
 *                   32 |                                         0
 *
 * Which arguments mean what: scripts/README.md.
 */

pyusdt*:::user_trace-n4
/arg2 == 0/
{
	sent[copyinstr(arg6), arg3] = timestamp;
}

pyusdt*:::user_trace-n4
/arg2 == 1 && sent[copyinstr(arg6), arg3]/
{
	@ms[copyinstr(arg6)] = quantize((timestamp - sent[copyinstr(arg6), arg3]) / 1000000);
	sent[copyinstr(arg6), arg3] = 0;
}

END
{
	printf("milliseconds that messages were on their way, by channel\n");
}
