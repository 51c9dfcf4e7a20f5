/* What does TCP send again?  pydtrace -qs scripts/system/tcpretrans.d */
BEGIN { printf("%-24s %-6s %-24s %-6s %s\n", "LADDR", "LPORT", "RADDR", "RPORT", "STATE"); }
rawtp:tcp::tcp_retransmit_skb
{
	this->sock = &args[0]->__sk_common;
	this->six = this->sock->skc_family == AF_INET6;
	printf("%-24s %-6d %-24s %-6d %s\n",
	    this->six ? inet_ntoa6((in6_addr_t *)&this->sock->skc_v6_rcv_saddr) : inet_ntoa((ipaddr_t *)&this->sock->skc_rcv_saddr),
	    this->sock->skc_num,
	    this->six ? inet_ntoa6((in6_addr_t *)&this->sock->skc_v6_daddr) : inet_ntoa((ipaddr_t *)&this->sock->skc_daddr),
	    ntohs(this->sock->skc_dport), tcp_state_string[this->sock->skc_state]);
}
