/*
 * How deep do queues get?
 *
 *     pydtrace -q -s scripts/queue-depth.d   (until Ctrl-C)
 *
 * Prints, for instance:
 *
 *     jobs in the queue, whenever one comes or goes
 *
 *       jobs
 *                value  ------------- Distribution ------------- count
 *                  < 0 |                                         0
 *                    0 |@@@@@@@@@@@@@@@@@@@@                     5
 *                   10 |@@@@@@@@@@@@@@@@@@@@                     5
 *                   20 |                                         0
 *
 * Which arguments mean what: scripts/README.md.
 */

pyusdt*:::user_trace-n1
{
	@depth[copyinstr(arg6)] = lquantize(arg3, 0, 1000, 10);
	@deepest[copyinstr(arg6), "deepest"] = max(arg3);
}

END
{
	printf("jobs in the queue, whenever one comes or goes\n");
}
