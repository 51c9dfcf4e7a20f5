/*
 * What did a thread do just before an operation failed?
 *
 *     pydtrace -q -s scripts/before-the-error.d   (ends at the first error)
 *
 * Prints, for instance:
 *
 *     /index.html start
 *     /index.html end 200
 *     /broken start
 *     /broken end 500
 *
 * The failed operation, and the one before it of the same thread. Which arguments mean what: scripts/README.md.
 */

/* Two for each thread: the operation that runs, and the one before it. */
#pragma D option nspec=128

self int now, before;

pyusdt*:::user_trace-i4s4
/arg2 == 0 && self->before/
{
	discard(self->before);
}

pyusdt*:::user_trace-i4s4
/arg2 == 0/
{
	self->before = self->now;
	self->now = speculation();
}

pyusdt*:::user_trace-i4s4
/self->now && arg2 == 0/
{
	speculate(self->now);
	printf("%s start\n", copyinstr(arg6));
}

pyusdt*:::user_trace-i4s4
/self->now && arg2 == 1/
{
	speculate(self->now);
	printf("%s end %d\n", copyinstr(arg6), arg4);
}

pyusdt*:::user_trace-i4s4
/self->now && arg2 == 1 && arg4 >= 400/
{
	commit(self->before);
	commit(self->now);
	found = 1;
}

pyusdt*:::user_trace-i4s4
/found/
{
	exit(0);
}
