/* program: events.py
 * options: -q */
pyusdt$target:::user_trace-i4s4
/arg2 % 4 == 3 || arg2 == 0/
{
	printf("%d: %d %d %d %d %d\n", arg2, arg2 + arg3, arg2 - arg3, arg2 * arg3, arg5 / 7, arg5 % 7);
	printf("%d %d %d %d %d %d\n", arg2 & 6, arg2 | 8, arg2 ^ 5, ~arg2, arg4 >> 33, arg2 << 40);
	printf("%d %d %d %d %d %d\n", arg2 < arg3, arg2 <= arg3, arg2 > arg3, arg2 >= arg3, arg2 == 3, arg2 != 3);
	printf("%d %d %d %d %d\n", arg2 && arg3, arg2 || arg3, arg2 ^^ arg3, !arg2, -arg3);
	printf("%s %d\n", arg2 > 5 ? "big" : "small", (arg3 < 0 ? -arg3 : arg3, arg2 + 100));
	printf("%d %d %d\n", (char)arg5, (uint16_t)arg5, (int)arg4);
}
