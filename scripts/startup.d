/*
 * What does a process do at its start, and when?
 *
 *     pydtrace -q -s scripts/startup.d -c 'python3 app.py'
 *
 * Prints, for instance:
 *
 *          0 ms  probe user_trace-i4s4    0 /index.html
 *          2 ms  probe user_trace-i4s4    1 /index.html
 *
 * Which arguments mean what: scripts/README.md.
 */

int64_t start;

pyusdt$target:::user_trace-i4s4, pyusdt$target:::user_trace-n*
{
	start = start ? start : timestamp;
	printf("%6d ms  probe %-16s %4d %s\n", (timestamp - start) / 1000000, probename, arg2,
	    arg6 ? copyinstr(arg6) : "");
}

pyusdt$target:::user_trace-i4s4, pyusdt$target:::user_trace-n*
/++events == 1000 || timestamp - start > 10000000000/
{
	exit(0);
}
