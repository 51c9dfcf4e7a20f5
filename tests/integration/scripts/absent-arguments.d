/* program: events.py
 * options: -q */
pyusdt$target:::user_trace-i4s4
/arg7 == 0/
{
	printf("%d %d %d %d %d\n", arg2, arg3, arg6 == 0, arg7, arg9);
}
