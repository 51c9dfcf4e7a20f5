/* What is received through Unix sockets?  pydtrace -qs scripts/system/undump.d   (64 bytes of each packet) */
BEGIN { printf("%-20s %-16s %-7s %-8s %s\n", "TIME", "COMM", "PID", "SIZE", "DATA"); }
rawtp:skb::skb_copy_datagram_iovec
/args[0]->sk != NULL && args[0]->sk->__sk_common.skc_family == 1/
{
	printf("%Y %-16s %-7d %-8d", walltimestamp, execname, pid, args[0]->len);
	tracemem(args[0]->data, 64, args[0]->len);
}
