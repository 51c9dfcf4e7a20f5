/*
 * How long do requests take, route by route, of whatever has named probes for them?
 *
 *     pyusdt trace latency -p PID        (until Ctrl-C; the same: pydtrace -q -s scripts/latency.d 1000000 -p PID)
 *     pyusdt trace latency --provider shop --name request-done=order-placed --name route=item --name duration=price
 *
 *     --unit=1000000  nanoseconds of a unit of the table: 1000000 shows milliseconds
 *
 * Prints, for instance:
 *
 *     durations in milliseconds
 *
 *       /index.html
 *                value  ------------- Distribution ------------- count
 *                    0 |                                         0
 *                    1 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@         16
 *                    2 |@@@@@@@@                                 4
 *                    4 |                                         0
 *
 * It reads request-done(route, duration) of the provider http; duration is in nanoseconds.
 */

http*:::request-done
{
	@[arg.route] = quantize(arg.duration / $1);
}

END
{
	printf("durations in %s\n", $1 == 1000000 ? "milliseconds" : $1 == 1000 ? "microseconds" : $1 == 1 ? "nanoseconds" : "units of --unit");
}
