/* Who sends signals to whom?  pydtrace -qs scripts/system/killsnoop.d */
BEGIN { printf("%-7s %-16s %-4s %-7s %s\n", "PID", "COMM", "SIG", "TPID", "ERR"); }
syscall::kill:entry, syscall::tkill:entry { self->whom = arg0; self->what = arg1; self->kills = 1; }
syscall::tgkill:entry { self->whom = arg1; self->what = arg2; self->kills = 1; }
syscall::kill:return, syscall::tkill:return, syscall::tgkill:return
/self->kills/
{
	printf("%-7d %-16s %-4d %-7d %d\n", pid, execname, self->what, (int)self->whom, errno);
	self->whom = 0; self->what = 0; self->kills = 0;
}
