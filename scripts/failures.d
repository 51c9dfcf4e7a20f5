/*
 * Which requests fail, with which status, of whatever has named probes for them?
 *
 *     pyusdt trace failures -p PID        (until Ctrl-C; the same: pydtrace -q -s scripts/failures.d 400 -p PID)
 *
 *     --status=400  the least status that is a failure
 *
 * Prints, for instance:
 *
 *       /broken                         500          3
 *     requests: 15, failed: 3
 *
 * It reads request-done(route, status) of the provider http.
 */

http*:::request-done
{
	total++;
}

http*:::request-done
/arg.status >= $1/
{
	failed++;
	@by[arg.route, arg.status] = count();
}

END
{
	printa("  %-30s %5d %@10d\n", @by);
	printf("requests: %d, failed: %d\n", total, failed);
}
