/*
 * What is retried again and again, and why?
 *
 *     pydtrace -q -s scripts/retry-storms.d 3   (attempts from which on it is told; until Ctrl-C)
 *
 *     --attempt=3  from which attempt on it is told
 *
 * Prints, for instance:
 *
 *     payment: attempt 3 after error 503
 *     payment: attempt 4 after error 503
 *
 * Which arguments mean what: scripts/README.md.
 */

pyusdt*:::user_trace-n3
/arg2 >= $1/
{
	printf("%s: attempt %d after error %d\n", copyinstr(arg6), arg2, arg3);
	@[copyinstr(arg6), arg3] = count();
}

END
{
	printa("  %-20s error %d: %@d late attempts\n", @);
	trunc(@);
}
