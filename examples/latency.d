/*
 * Where examples/httpd.py spends its time: a latency histogram for each path, and a count for each
 * status.
 *
 *     pydtrace -s examples/latency.d -c 'python3 examples/httpd.py'        (until Ctrl-C)
 *
 * or, for a server that runs already, -p PID; $target is the process of -c or -p.
 *
 * arg2 is 0 at the start of a request and 1 at its end, arg4 the status, arg6 the path; a request stays on
 * the thread that it started on.
 */

pyusdt$target:::user_trace-i4s4
/arg2 == 0/
{
	self->start = timestamp;
}

pyusdt$target:::user_trace-i4s4
/arg2 == 1 && self->start/
{
	@["latency, microseconds", copyinstr(arg6)] = quantize((timestamp - self->start) / 1000);
	@statuses["answers with status", arg4] = count();
	self->start = 0;
}
