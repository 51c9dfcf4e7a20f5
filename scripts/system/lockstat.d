/* Which of the kernel's locks are waited for, how long, and by which code?  pydtrace -qs scripts/system/lockstat.d   (until Ctrl-C; Linux 5.19)
 * The kinds are those of dtrace's lockstat provider where it has them; only a wait is seen, no lock that was free. */
inline string kind[int flags] = flags & 32 ? "mutex" : flags & 8 ? "rt" : flags & 16 ? "percpu-rwsem" : flags & 1 ?
    (flags & 2 ? "spinning rwlock, reader" : flags & 4 ? "spinning rwlock, writer" : "spin") :
    flags & 2 ? "rwsem, reader" : flags & 4 ? "rwsem, writer" : "semaphore";

rawtp:lock::contention_begin { self->began = timestamp; self->flags = (int)arg1; }
rawtp:lock::contention_end
/self->began/
{
	@contended[kind[self->flags], stack(6)] = count();
	@times["nanoseconds", kind[self->flags]] = quantize(timestamp - self->began);
	self->began = 0;
	self->flags = 0;
}
END { trunc(@contended, 20); }
