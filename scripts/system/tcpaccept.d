/* Which connections come in?  pydtrace -qs scripts/system/tcpaccept.d
 * They are made where a packet comes in, so that no process can be told. */
BEGIN { printf("%-2s %-24s %-6s %-24s %s\n", "IP", "RADDR", "RPORT", "LADDR", "LPORT"); }
tcp:::accept-established
{
	printf("%-2d %-24s %-6d %-24s %d\n", args[2]->ip_ver, args[3]->tcps_raddr, args[3]->tcps_rport, args[3]->tcps_laddr, args[3]->tcps_lport);
}
