/*
 * Under which time do half, 90, 99 and 99.9 of 100 requests stay, route by route, of whatever has named probes for them?
 *
 *     pyusdt trace latency-percentiles -p PID   (until Ctrl-C; or: pydtrace -q -s scripts/latency-percentiles.d 1000 -p PID)
 *     pyusdt trace latency-percentiles --provider db --name request-done=query-done --name route=statement
 *
 *     --unit=1000  nanoseconds of a unit of the table: 1000 shows microseconds
 *
 * Prints, for instance:
 *
 *     durations in microseconds, each percentile to 1 %
 *
 *       /index.html      p50=1019           p90=2041           p99=4103         p99.9=4103           max=4130
 *
 * It reads request-done(route, duration) of the provider http; duration is in nanoseconds.
 */

#pragma D option pyusdt

http*:::request-done
{
	@[arg.route] = percentiles(arg.duration / $1);
}

END
{
	printf("durations in %s, each percentile to 1 %%\n", $1 == 1000 ? "microseconds" : $1 == 1000000 ? "milliseconds" : $1 == 1 ? "nanoseconds" : "units of --unit");
}
