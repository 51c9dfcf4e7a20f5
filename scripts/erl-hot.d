/*
 * Which Erlang processes keep the schedulers busy? (By time: no event of the emulator tells reductions.)
 *
 *     pydtrace -q -s scripts/erl-hot.d   (until Ctrl-C; the nodes have called pyusdt_vm:enable())
 *
 * Prints, for instance:
 *
 *     node     process                   runs  microseconds
 *     4711     <0.85.0>                   122        240117
 */

#pragma D option aggsortpos=1

erlang*:::process-scheduled
{
	self->since = timestamp;
}

erlang*:::process-unscheduled
/self->since/
{
	@runs[pid, copyinstr(arg0)] = count();
	@took[pid, copyinstr(arg0)] = sum((timestamp - self->since) / 1000);
	self->since = 0;
}

END
{
	trunc(@took, 20);
	printf("%-8s %-20s %9s %13s\n", "node", "process", "runs", "microseconds");
	printa("%-8d %-20s %@9d %@13d\n", @runs, @took);
}
