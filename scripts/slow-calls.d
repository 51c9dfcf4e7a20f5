/*
 * Which operations take longer than n ms, and for whom (tag)?
 *
 *     pydtrace -q -s scripts/slow-calls.d 20   (n; until Ctrl-C)
 *
 *     --ms=20  how many milliseconds are long
 *
 * Prints, for instance:
 *
 *       27 ms  /slow  order 7
 *
 * Which arguments mean what: scripts/README.md.
 */

pyusdt*:::user_trace-i4s4
/arg2 == 0/
{
	started[pid, arg3] = timestamp;
}

pyusdt*:::user_trace-i4s4
/arg2 == 1 && started[pid, arg3]/
{
	this->ms = (timestamp - started[pid, arg3]) / 1000000;
}

pyusdt*:::user_trace-i4s4
/arg2 == 1 && started[pid, arg3] && this->ms >= $1/
{
	printf("%4d ms  %s  %s\n", this->ms, copyinstr(arg6), arg1 ? copyinstr(arg1) : "");
}

pyusdt*:::user_trace-i4s4
/arg2 == 1/
{
	started[pid, arg3] = 0;
}
