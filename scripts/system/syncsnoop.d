/* Who has what was written put on the disk?  pydtrace -qs scripts/system/syncsnoop.d */
BEGIN { printf("%-7s %-16s %s\n", "PID", "COMM", "EVENT"); }
syscall::sync:entry, syscall::syncfs:entry, syscall::fsync:entry, syscall::fdatasync:entry, syscall::sync_file_range*:entry, syscall::msync:entry
{
	printf("%-7d %-16s %s\n", pid, execname, probefunc);
}
