/*
 * How long do threads do nothing between two events?
 *
 *     pydtrace -q -s scripts/pauses.d   (until Ctrl-C)
 *
 * Prints, for instance:
 *
 *       milliseconds between a thread's events
 *                value  ------------- Distribution ------------- count
 *                    8 |                                         0
 *                   16 |@@@@@@@@@@@@@                            3
 *                   32 |                                         0
 *
 * Which arguments mean what: scripts/README.md.
 */

self int64_t last;

pyusdt*:::user_trace-i4s4
/self->last/
{
	@ms["milliseconds between a thread's events"] = quantize((timestamp - self->last) / 1000000);
}

pyusdt*:::user_trace-i4s4
{
	self->last = timestamp;
}
