/*
 * Where the time of a request goes that passes two languages: Python in front, Erlang behind.
 *
 *     pydtrace -Zqs examples/two_languages/latency.d
 *
 * Both sides put the same tag on a request and fire user_trace-n1 when it begins and user_trace-n2 when it is done, so
 * one script sees the whole of it. Out: the latency of either side, and each slow request by its tag.
 */

pyusdt*:::user_trace-n1
{
	begun[copyinstr(arg1)] = timestamp;
}

erlang*:::user_trace-n1
{
	asked[copyinstr(arg1)] = timestamp;
}

erlang*:::user_trace-n2
/asked[copyinstr(arg1)]/
{
	store[copyinstr(arg1)] = timestamp - asked[copyinstr(arg1)];
	@latency["store (Erlang), microseconds"] = quantize(store[copyinstr(arg1)] / 1000);
	asked[copyinstr(arg1)] = 0;
}

pyusdt*:::user_trace-n2
/begun[copyinstr(arg1)]/
{
	this->whole = (timestamp - begun[copyinstr(arg1)]) / 1000;
	this->behind = store[copyinstr(arg1)] / 1000;
	@latency["whole request, microseconds"] = quantize(this->whole);
	@latency["front end (Python), microseconds"] = quantize(this->whole - this->behind);
	@requests = count();
}

pyusdt*:::user_trace-n2
/begun[copyinstr(arg1)] && timestamp - begun[copyinstr(arg1)] > 50000000 && !store[copyinstr(arg1)]/
{
	printf("slow: %s, %s: %d ms, the store was not seen\n", copyinstr(arg1), copyinstr(arg6), this->whole / 1000);
}

pyusdt*:::user_trace-n2
/begun[copyinstr(arg1)] && timestamp - begun[copyinstr(arg1)] > 50000000 && store[copyinstr(arg1)]/
{
	printf("slow: %s, %s: %d ms, of which the store %d ms\n", copyinstr(arg1), copyinstr(arg6),
	    this->whole / 1000, this->behind / 1000);
}

pyusdt*:::user_trace-n2
{
	begun[copyinstr(arg1)] = 0;
	store[copyinstr(arg1)] = 0;
}

END
{
	printa("requests seen from end to end: %@d\n", @requests);
}
