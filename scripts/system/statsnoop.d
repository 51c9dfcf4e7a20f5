/* Which paths do processes ask about, and are they there?  pydtrace -qs scripts/system/statsnoop.d */
BEGIN { printf("%-7s %-16s %3s %s\n", "PID", "COMM", "ERR", "PATH"); }
syscall::newstat:entry, syscall::newlstat:entry, syscall::statfs:entry { self->path = arg0; self->asks = 1; }
syscall::newfstatat:entry, syscall::statx:entry { self->path = arg1; self->asks = 1; }
syscall::newstat:return, syscall::newlstat:return, syscall::statfs:return, syscall::newfstatat:return, syscall::statx:return
/self->asks/
{
	printf("%-7d %-16s %3d %s\n", pid, execname, errno, copyinstr(self->path));
	self->path = 0; self->asks = 0;
}
