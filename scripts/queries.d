/*
 * Which statements keep the database busy, of whatever has named probes for them?
 *
 *     pyusdt trace queries -p PID        (until Ctrl-C; the same: pydtrace -q -s scripts/queries.d 10 -p PID)
 *
 *     --most=10  how many statements are shown
 *
 * Prints, for instance:
 *
 *     time in the database, by statement
 *         123456 us  select * from orders
 *
 * It reads query-done(statement, duration) of the provider db; duration is in nanoseconds.
 */

db*:::query-done
{
	@total_us[arg.statement] = sum(arg.duration / 1000);
}

END
{
	trunc(@total_us, $1);
	printf("time in the database, by statement\n");
	printa("  %@10d us  %s\n", @total_us);
}
