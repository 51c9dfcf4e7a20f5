/*
 * Which operations started and did not end?
 *
 *     pydtrace -q -s scripts/unfinished.d   (until Ctrl-C)
 *
 * Prints, for instance:
 *
 *       /lost                          1
 *
 * Which arguments mean what: scripts/README.md.
 */

pyusdt*:::user_trace-i4s4
/arg2 == 0/
{
	@open[copyinstr(arg6)] = sum(1);
}

pyusdt*:::user_trace-i4s4
/arg2 == 1/
{
	@open[copyinstr(arg6)] = sum(-1);
}

END
{
	printf("started and not ended (0: all did):\n");
	printa("  %-30s %@d\n", @open);
	trunc(@open);
}
