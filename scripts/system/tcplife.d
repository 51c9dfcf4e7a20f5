/* How long do connections live, and how much do they carry?  pydtrace -qs scripts/system/tcplife.d
 * PID and COMM are known of connections that are made from here. */
BEGIN { printf("%-7s %-16s %-24s %-6s %-24s %-6s %8s %8s %s\n", "PID", "COMM", "LADDR", "LPORT", "RADDR", "RPORT", "TX_KB", "RX_KB", "MS"); }
tcp:::connect-request { begun[arg3] = timestamp; who[arg3] = execname; whose[arg3] = pid; }
tcp:::accept-established { begun[arg3] = timestamp; who[arg3] = "-"; whose[arg3] = 0; }
tcp:::state-change /begun[arg3] && args[3]->tcps_lport/ { port[arg3] = args[3]->tcps_lport; }
tcp:::state-change
/begun[arg3] && args[3]->tcps_state == TCP_STATE_CLOSED/
{
	printf("%-7d %-16s %-24s %-6d %-24s %-6d %8d %8d %d\n", whose[arg3], who[arg3], args[3]->tcps_laddr, port[arg3], args[3]->tcps_raddr,
	    args[3]->tcps_rport, ((struct tcp_sock *)arg3)->bytes_acked / 1024, ((struct tcp_sock *)arg3)->bytes_received / 1024,
	    (timestamp - begun[arg3]) / 1000000);
	begun[arg3] = 0; who[arg3] = 0; whose[arg3] = 0; port[arg3] = 0;
}
