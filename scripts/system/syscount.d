/* Which system calls are made most, and by whom?  pydtrace -qs scripts/system/syscount.d   (until Ctrl-C) */
syscall:::entry { @calls[probefunc] = count(); @processes[execname] = count(); }
END
{
	trunc(@calls, 10); trunc(@processes, 10);
	printf("calls\n"); printa("  %-24s %@10d\n", @calls);
	printf("processes\n"); printa("  %-24s %@10d\n", @processes);
}
