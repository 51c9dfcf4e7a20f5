/* program: threads.py
 * options: -q */
pyusdt$target:::user_trace-i4s4 /arg2 == 0/ { self->name = copyinstr(arg6); self->number = arg3; }
pyusdt$target:::user_trace-i4s4 /arg2 == 1/ { self->steps++; }
pyusdt$target:::user_trace-i4s4
/arg2 == 2 && self->number/
{
	printf("%s: %d steps\n", self->name, self->steps);
	self->number = 0;
}
pyusdt$target:::user_trace-i4s4 /arg2 == 2 && arg3 == 9/ { printf("main thread: %d\n", self->number); }
