/* Which threads are made, and what do they run?  pydtrace -qs scripts/system/threadsnoop.d -x file=/lib/x86_64-linux-gnu/libc.so.6
 * That is where the C library is on Debian's x86-64; without it only programs that run already are seen. */
#pragma D option zdefs

BEGIN { printf("%-20s %-7s %-16s %s\n", "TIME", "PID", "COMM", "FUNCTION"); }
pid*:libc.so:pthread_create:entry
{
	printf("%Y %-7d %-16s %A\n", walltimestamp, pid, execname, arg2);
}
