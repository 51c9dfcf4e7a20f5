/* What does TCP send again?  pydtrace -qs scripts/system/tcpretrans.d */
BEGIN { printf("%-24s %-6s %-24s %-6s %s\n", "LADDR", "LPORT", "RADDR", "RPORT", "STATE"); }
rawtp:tcp::tcp_retransmit_skb
/args[0]->__sk_common.skc_family == AF_INET/
{
	printf("%-24s %-6d %-24s %-6d %s\n", inet_ntoa((ipaddr_t *)&args[0]->__sk_common.skc_rcv_saddr), args[0]->__sk_common.skc_num,
	    inet_ntoa((ipaddr_t *)&args[0]->__sk_common.skc_daddr), ntohs(args[0]->__sk_common.skc_dport),
	    tcp_state_string[args[0]->__sk_common.skc_state]);
}
