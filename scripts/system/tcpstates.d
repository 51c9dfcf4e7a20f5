/* How long is a connection in which state?  pydtrace -qs scripts/system/tcpstates.d */
uint64_t since[int64_t];

BEGIN { printf("%-16s %-24s %-6s %-24s %-6s %-20s %-20s %s\n", "SOCKET", "LADDR", "LPORT", "RADDR", "RPORT", "OLD", "NEW", "MS"); }
tcp:::state-change
{
	printf("%-16x %-24s %-6d %-24s %-6d %-20s %-20s %d\n", args[1]->cs_cid, args[3]->tcps_laddr, args[3]->tcps_lport, args[3]->tcps_raddr,
	    args[3]->tcps_rport, tcp_state_string[args[5]->tcps_state], tcp_state_string[args[3]->tcps_state],
	    since[arg3] ? (timestamp - since[arg3]) / 1000000 : 0);
	since[arg3] = args[3]->tcps_state == TCP_STATE_CLOSED ? 0 : timestamp;
}
