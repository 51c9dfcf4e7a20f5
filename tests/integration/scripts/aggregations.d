/* program: events.py
 * options: -q */
pyusdt$target:::user_trace-i4s4
{
	@total = count();
	@by_colour[copyinstr(arg1)] = count();
	@sums[copyinstr(arg1), arg2 % 2] = sum(arg3);
	@low[copyinstr(arg7)] = min(arg3);
	@high[copyinstr(arg7)] = max(arg4);
	@mean[copyinstr(arg7)] = avg(arg5);
}
