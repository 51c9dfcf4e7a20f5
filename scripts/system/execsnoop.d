/* Which programs are started, by whom, with which arguments?  pydtrace -qs scripts/system/execsnoop.d */
BEGIN { printf("%-9s %-7s %-7s %s\n", "TIME(ms)", "PPID", "PID", "ARGS"); begun = timestamp; }
proc:::exec-success { printf("%-9d %-7d %-7d %s\n", (timestamp - begun) / 1000000, ppid, pid, execargs); }
