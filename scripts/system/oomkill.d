/* Which processes does the kernel kill for want of memory?  pydtrace -qs scripts/system/oomkill.d */
rawtp:oom::mark_victim
{
	printf("%Y %s (%d) makes the kernel kill %s (%d), total %d pages\n", walltimestamp, execname, pid, args[0]->comm, args[0]->tgid,
	    args[0]->mm == NULL ? 0 : args[0]->mm->total_vm);
}
