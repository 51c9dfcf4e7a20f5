/*
 * Which lines of a Python program run most often?
 *
 *     pydtrace -q -s scripts/py-lines.d -c 'python app.py'   (or -p PID, of a program that has the provider python)
 *
 * Prints, for instance:
 *
 *     how often lines ran
 *       /srv/shop/prices.py:112                                     40231
 *
 * Every line is an event: name a module (python*:shop.prices::line) where that is too many.
 */

python*:::line
{
	@lines[copyinstr(arg0), arg2] = count();
}

END
{
	trunc(@lines, 20);
	printf("how often lines ran\n");
	printa("  %s:%-6d %@10d\n", @lines);
}
