/* Which packets of TCP does the kernel drop, of which connection, why and where?  pydtrace -qs scripts/system/tcpdrop.d   (until Ctrl-C)
 * REASON is what the kernel's enum skb_drop_reason has (Linux 5.17); a packet that comes in has no connection yet, mostly. */
BEGIN
{
	printf("%-7s %-16s %-24s %-6s %-24s %-6s %-20s %s\n", "PID", "COMM", "LADDR", "LPORT", "RADDR", "RPORT", "STATE", "REASON");
}
rawtp:skb::kfree_skb
/args[0]->sk && args[0]->sk->sk_protocol == IPPROTO_TCP && arg2 > SKB_DROP_REASON_NOT_SPECIFIED/
{
	this->sock = &args[0]->sk->__sk_common;
	this->six = this->sock->skc_family == AF_INET6;
	printf("%-7d %-16s %-24s %-6d %-24s %-6d %-20s %d", pid, execname,
	    this->six ? inet_ntoa6((in6_addr_t *)&this->sock->skc_v6_rcv_saddr) : inet_ntoa((ipaddr_t *)&this->sock->skc_rcv_saddr),
	    this->sock->skc_num,
	    this->six ? inet_ntoa6((in6_addr_t *)&this->sock->skc_v6_daddr) : inet_ntoa((ipaddr_t *)&this->sock->skc_daddr),
	    ntohs(this->sock->skc_dport), tcp_state_string[this->sock->skc_state], arg2);
	stack();
	printf("\n");
}
