/* What is typed into bash?  pydtrace -qs scripts/system/bashreadline.d -x file=/bin/bash
 * Of a bash that has a readline library of its own: -x file=/lib/x86_64-linux-gnu/libreadline.so.8, too. */
#pragma D option zdefs

BEGIN { printf("%-20s %-7s %s\n", "TIME", "PID", "COMMAND"); }
pid*:bash:readline:return, pid*:libreadline.so:readline:return
/arg1 && execname == "bash"/
{
	printf("%Y %-7d %s\n", walltimestamp, pid, copyinstr(arg1));
}
