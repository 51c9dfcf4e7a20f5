/*
 * Where does a Python program spend its time, function by function: with (inclusive) and without (exclusive) what they call?
 *
 *     pydtrace -q -s scripts/py-func-time.d -c 'python app.py'   (or -p PID, of a program that has the provider python)
 *
 * Prints, for instance:
 *
 *     microseconds, exclusive
 *       shop.prices.lookup                                           1204332
 *       shop.app.main                                                   1402
 *
 * A generator runs from its resumption to its next yield.  Functions that ran before tracing began are left out.
 */

python*:::function-entry
{
	self->depth++;
	began[tid, self->depth] = timestamp;
	below[tid, self->depth] = 0;
}

python*:::function-return
/self->depth > 0/
{
	this->took = timestamp - began[tid, self->depth];
	@exclusive_us[strjoin(probemod, strjoin(".", probefunc))] = sum((this->took - below[tid, self->depth]) / 1000);
	@inclusive_us[strjoin(probemod, strjoin(".", probefunc))] = sum(this->took / 1000);
	began[tid, self->depth] = 0;
	below[tid, self->depth] = 0;
	self->depth--;
	below[tid, self->depth] += this->took;
}

END
{
	trunc(@exclusive_us, 20);
	trunc(@inclusive_us, 20);
	printf("microseconds, exclusive\n");
	printa("  %-60s %@10d\n", @exclusive_us);
	printf("\nmicroseconds, inclusive\n");
	printa("  %-60s %@10d\n", @inclusive_us);
}
