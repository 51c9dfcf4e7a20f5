/*
 * Which calls of Python functions take longer than n ms?
 *
 *     pydtrace -q -s scripts/py-func-slower.d -c 'python app.py' 20   (n; or -p PID, of a program that has the provider python)
 *
 *     --ms=20  how many milliseconds are long
 *
 * Prints, for instance:
 *
 *       27 ms  shop.prices.lookup  /srv/shop/prices.py:112
 *
 * The place is where the function returned.
 */

python*:::function-entry
{
	self->depth++;
	began[tid, self->depth] = timestamp;
}

python*:::function-return
/self->depth > 0/
{
	this->ms = (timestamp - began[tid, self->depth]) / 1000000;
	began[tid, self->depth] = 0;
	self->depth--;
}

python*:::function-return
/this->ms >= $1/
{
	printf("%4d ms  %s.%s  %s:%d\n", this->ms, probemod, probefunc, copyinstr(arg0), arg2);
	this->ms = 0;
}
