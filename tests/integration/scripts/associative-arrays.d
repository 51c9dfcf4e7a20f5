/* program: events.py
 * options: -q */
pyusdt$target:::user_trace-i4s4
{
	hits[copyinstr(arg1), arg2 % 2]++;
	latest[copyinstr(arg1)] = copyinstr(arg6);
	lowest[arg2 % 2] = arg3;
}
END
{
	printf("%d %d %d %d\n", hits["red", 0], hits["red", 1], hits["blue", 0], hits["none", 0]);
	printf("%s %s\n", latest["red"], latest["green"]);
	printf("%d %d %d\n", lowest[0], lowest[1], lowest[2]);
}
