/* Who becomes another user?  pydtrace -qs scripts/system/setuids.d */
BEGIN { printf("%-7s %-16s %-6s %-10s %s\n", "PID", "COMM", "UID", "CALL", "RESULT"); }
syscall::setuid:entry, syscall::setfsuid:entry, syscall::setresuid:entry { self->uid = (int)arg0; self->sets = 1; }
syscall::setuid:return, syscall::setfsuid:return, syscall::setresuid:return
/self->sets/
{
	printf("%-7d %-16s %-6d %-10s %d\n", pid, execname, self->uid, probefunc, (int)arg1);
	self->uid = 0; self->sets = 0;
}
