/* Which processes connect to where?  pydtrace -qs scripts/system/tcpconnect.d */
BEGIN { printf("%-7s %-16s %-2s %-24s %-24s %s\n", "PID", "COMM", "IP", "SADDR", "DADDR", "DPORT"); }
tcp:::connect-request
{
	printf("%-7d %-16s %-2d %-24s %-24s %d\n", pid, execname, args[2]->ip_ver, args[3]->tcps_laddr, args[3]->tcps_raddr, args[3]->tcps_rport);
}
