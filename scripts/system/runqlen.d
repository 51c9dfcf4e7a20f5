/* How many threads wait for a CPU that is busy?  pydtrace -qs scripts/system/runqlen.d   (until Ctrl-C; Linux 6.14)
 * Looked at 99 times a second on each CPU; the one that runs does not wait. */
profile-99
/pid/
{
	this->n = curthread->se.cfs_rq->nr_queued;
	@length["waiting"] = lquantize(this->n > 0 ? this->n - 1 : 0, 0, 100, 1);
}
