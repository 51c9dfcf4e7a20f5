/*
 * Which Erlang processes move from one scheduler to another?
 *
 *     pydtrace -q -s scripts/erl-moves.d   (until Ctrl-C; the nodes have called pyusdt_vm:enable())
 *
 * Prints, for instance:
 *
 *     node     process                   runs      moves
 *     4711     <0.85.0>                    41          3
 */

int was[int, string]; /* the thread that ran it last */

erlang*:::process-scheduled
{
	@runs[pid, copyinstr(arg0)] = count();
	@moves[pid, copyinstr(arg0)] = sum(was[pid, copyinstr(arg0)] && was[pid, copyinstr(arg0)] != tid ? 1 : 0);
	was[pid, copyinstr(arg0)] = tid;
}

END
{
	printf("%-8s %-20s %9s %10s\n", "node", "process", "runs", "moves");
	printa("%-8d %-20s %@9d %@10d\n", @runs, @moves);
}
