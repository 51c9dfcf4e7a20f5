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
 * Which arguments mean what: scripts/README.md.
 */

pyusdt*:::user_trace-i4s4
/!self->spec/
{
	self->spec = speculation();
}

pyusdt*:::user_trace-i4s4
/self->spec && arg2 == 0/
{
	speculate(self->spec);
	printf("%s start\n", copyinstr(arg6));
}

pyusdt*:::user_trace-i4s4
/self->spec && arg2 == 1/
{
	speculate(self->spec);
	printf("%s end %d\n", copyinstr(arg6), arg4);
}

pyusdt*:::user_trace-i4s4
/self->spec && arg2 == 1 && arg4 >= 400/
{
	commit(self->spec);
	self->spec = 0;
	found = 1;
}

pyusdt*:::user_trace-i4s4
/found/
{
	exit(0);
}
