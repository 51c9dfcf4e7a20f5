/* Who sleeps on purpose, and for how long?  pydtrace -qs scripts/system/naptime.d */
BEGIN { printf("%-16s %-7s %-16s %-7s %s\n", "PCOMM", "PPID", "COMM", "PID", "SECONDS"); }
syscall::nanosleep:entry { this->t = (int64_t *)copyin(arg0, 16); this->ns = this->t[0] * 1000000000 + this->t[1]; }
syscall::clock_nanosleep:entry
{
	/* up to a moment (TIMER_ABSTIME) of CLOCK_REALTIME or of another clock, or for a while */
	this->t = (int64_t *)copyin(arg2, 16);
	this->ns = this->t[0] * 1000000000 + this->t[1] - (arg1 & 1 ? arg0 == 0 ? walltimestamp : (int64_t)timestamp : 0);
}
syscall::nanosleep:entry, syscall::clock_nanosleep:entry
{
	printf("%-16s %-7d %-16s %-7d %d.%03d\n", curthread->real_parent->comm, ppid, execname, pid, this->ns / 1000000000,
	    this->ns % 1000000000 / 1000000);
}
