/*
 * Which lines of the application make requests wait: for which statement, call, cache command or pool?
 *
 *     pyusdt trace request-lines -p PID     (until Ctrl-C; the same: pydtrace -q -s scripts/request-lines.d -p PID)
 *
 * Prints, for instance:
 *
 *     microseconds of requests, number, kind, line of the application, what it waits for
 *
 *         1234567       17  sql    shop.py:41 basket  select price from item where id = ?
 *
 * It reads span(kind, name, line, duration) of the provider request, which fires for requests and tasks of frameworks
 * (`pyusdt run`). The line is the innermost one that is not of a library. The largest come last.
 */

request*:::span
{
	@us[arg.kind, arg.line, arg.name] = sum(arg.duration / 1000);
	@number[arg.kind, arg.line, arg.name] = count();
}

END
{
	printf("microseconds of requests, number, kind, line of the application, what it waits for\n\n");
	printa("  %@9d %@8d  %-6s %s  %s\n", @us, @number);
}
