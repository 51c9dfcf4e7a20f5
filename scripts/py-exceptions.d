/*
 * Which exceptions does a Python program raise, and where?
 *
 *     pydtrace -q -s scripts/py-exceptions.d -c 'python app.py'   (or -p PID, of a program that has the provider python)
 *
 * Prints, for instance:
 *
 *     exceptions raised, by type and line
 *       KeyError             shop.prices.lookup:118                       402
 *
 * Each is counted once, where it was raised, whether it is handled or not.
 */

python*:::exception-raise
{
	@raised[copyinstr(arg3), probemod, probefunc, arg2] = count();
}

END
{
	printf("exceptions raised, by type and line\n");
	printa("  %-20s %s.%s:%-6d %@10d\n", @raised);
}
