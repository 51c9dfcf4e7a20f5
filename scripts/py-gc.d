/*
 * How long does Python's garbage collector stop a program, by generation?
 *
 *     pydtrace -q -s scripts/py-gc.d -c 'python app.py'   (or -p PID, of a program that has the provider python)
 *
 * Prints, for instance:
 *
 *     microseconds that a collection of generation 2 took
 *                value  ------------- Distribution ------------- count
 *                 2048 |                                         0
 *                 4096 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@ 12
 */

python*:::gc-start
{
	self->began = timestamp;
	self->generation = arg0;
}

python*:::gc-done
/self->began/
{
	@took_us[self->generation] = quantize((timestamp - self->began) / 1000);
	@found[self->generation] = sum(arg0);
	self->began = 0;
}

END
{
	printa("microseconds that a collection of generation %d took%@d\n", @took_us);
	printa("generation %d: %@d objects collected\n", @found);
}
