/* Which files do processes open, and does it work?  pydtrace -qs scripts/system/opensnoop.d */
BEGIN { printf("%-7s %-16s %4s %3s %s\n", "PID", "COMM", "FD", "ERR", "PATH"); }
syscall::open:entry { self->path = arg0; self->opens = 1; }
syscall::openat:entry, syscall::openat2:entry { self->path = arg1; self->opens = 1; }
syscall::open:return, syscall::openat:return, syscall::openat2:return
/self->opens/
{
	printf("%-7d %-16s %4d %3d %s\n", pid, execname, (int)arg1 < 0 ? -1 : (int)arg1, errno, copyinstr(self->path));
	self->path = 0; self->opens = 0;
}
