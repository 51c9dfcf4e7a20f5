/*
 * Which node is slow to receive: how many bytes wait for it, which processes are suspended for it, and how long?
 *
 *     pydtrace -q -s scripts/erl-dist.d   (until Ctrl-C; the nodes have called pyusdt_vm:enable())
 *
 * Prints, for instance:
 *
 *     queue                                                    % of the limit, most
 *       near@localhost -> far@localhost                                        108
 *     suspended                                                 times    ms, most
 *       <0.92.0> -> far@localhost                                    3        2004
 */

erlang*:::dist-queue
{
	@fill[copyinstr(arg0), copyinstr(arg1)] = max(arg2 * 100 / arg3);
}

erlang*:::dist-port_busy
{
	since[pid, copyinstr(arg3)] = timestamp;
	node[pid, copyinstr(arg3)] = copyinstr(arg2);
}

erlang*:::process-port_unblocked
/since[pid, copyinstr(arg0)]/
{
	@times[copyinstr(arg0), node[pid, copyinstr(arg0)]] = count();
	@ms[copyinstr(arg0), node[pid, copyinstr(arg0)]] = max((timestamp - since[pid, copyinstr(arg0)]) / 1000000);
	since[pid, copyinstr(arg0)] = 0;
	node[pid, copyinstr(arg0)] = 0;
}

END
{
	printf("%-57s %20s\n", "queue", "% of the limit, most");
	printa("  %s -> %-40s %@20d\n", @fill);
	printf("%-57s %8s %11s\n", "suspended", "times", "ms, most");
	printa("  %s -> %-40s %@20d %@11d\n", @times, @ms);
}
