/*
 * How many users get their answer within n ms, within 4n, or later? (Apdex)
 *
 *     pydtrace -q -s scripts/satisfaction.d 5   (n; until Ctrl-C)
 *
 *     --ms=5  how many milliseconds satisfy everybody
 *
 * Prints, for instance:
 *
 *     satisfied 12, tolerating 0, frustrated 3: apdex 0.80
 *
 * Which arguments mean what: scripts/README.md.
 */

int64_t satisfied, tolerating;

pyusdt*:::user_trace-i4s4
/arg2 == 0/
{
	started[pid, arg3] = timestamp;
}

pyusdt*:::user_trace-i4s4
/arg2 == 1 && started[pid, arg3]/
{
	this->ms = (timestamp - started[pid, arg3]) / 1000000;
	satisfied += this->ms < $1;
	tolerating += this->ms >= $1 && this->ms < 4 * $1;
	all++;
	started[pid, arg3] = 0;
}

END
/all/
{
	this->score = (100 * satisfied + 50 * tolerating) / all;
	printf("satisfied %d, tolerating %d, frustrated %d: apdex %d.%02d\n", satisfied, tolerating,
	    all - satisfied - tolerating, this->score / 100, this->score % 100);
}
