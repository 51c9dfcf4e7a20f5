/* Which of a process's locks are waited for, and how long?  pydtrace -qs scripts/system/plockstat.d -p PID   (or -c command; until Ctrl-C)
 * Of mutexes and reader-writer locks of pthreads each that was taken, by its address, and what was not free at once; and of all locks
 * that sleep in the kernel (futexes, those of other languages, too) how long. */
pid$target:libc.so:pthread_mutex_lock:entry, pid$target:libc.so:pthread_rwlock_rdlock:entry, pid$target:libc.so:pthread_rwlock_wrlock:entry
{
	self->lock = arg0;
	self->began = timestamp;
	self->slept = 0;
}
syscall::futex:entry
/pid == $target && ((int)arg1 & 127) != 1 && ((int)arg1 & 127) != 10/
{
	self->futex = arg0;
	self->sleeps = timestamp;
	self->slept = 1;
}
syscall::futex:return
/self->sleeps/
{
	@slept["nanoseconds asleep, futex", self->futex] = quantize(timestamp - self->sleeps);
	self->sleeps = 0;
	self->futex = 0;
}
pid$target:libc.so:pthread_mutex_lock:return, pid$target:libc.so:pthread_rwlock_rdlock:return, pid$target:libc.so:pthread_rwlock_wrlock:return
/self->lock/
{
	@taken[probefunc, self->lock] = count();
	@blocked[probefunc, self->lock] = sum(self->slept);
	@time["nanoseconds until it was taken", probefunc, self->slept ? "after a sleep" : "without"] = quantize(timestamp - self->began);
	self->lock = 0;
	self->began = 0;
}
pid$target:libc.so:pthread_mutex_lock:return
/arg1 && arg1 != 130/
{
	@errors["mutex errors", (int)arg1, ustack(4)] = count();
}
END
{
	printf("%-24s %-18s %10s %10s\n", "CALL", "LOCK", "TAKEN", "BLOCKED");
	printa("%-24s 0x%-16x %@10d %@10d\n", @taken, @blocked);
}
