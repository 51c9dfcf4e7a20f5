/*
 * How many bytes go through which sockets and ports, and where to?
 *
 *     pydtrace -q -s scripts/erl-traffic.d   (until Ctrl-C; the nodes have called pyusdt_vm:enable())
 *
 * Prints, for instance:
 *
 *     socket           peer                  call                         calls      bytes
 *     #Port<0.7>       127.0.0.1:5672        prim_inet:send/3                20        100
 *     port             name                                          commands      bytes
 *     #Port<0.8>       cat                                                20        100
 */

erlang*:::inet-return
{
	@calls[copyinstr(arg2), copyinstr(arg3), copyinstr(arg1)] = count();
	@bytes[copyinstr(arg2), copyinstr(arg3), copyinstr(arg1)] = sum(arg4);
}

erlang*:::driver-output,
erlang*:::driver-outputv
{
	@commands[copyinstr(arg1), copyinstr(arg2)] = count();
	@out[copyinstr(arg1), copyinstr(arg2)] = sum(arg3);
}

END
{
	printf("%-16s %-21s %-24s %9s %10s\n", "socket", "peer", "call", "calls", "bytes");
	printa("%-16s %-21s %-24s %@9d %@10d\n", @calls, @bytes);
	printf("%-16s %-46s %9s %10s\n", "port", "name", "commands", "bytes");
	printa("%-16s %-46s %@9d %@10d\n", @commands, @out);
}
