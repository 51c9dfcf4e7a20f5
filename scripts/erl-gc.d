/*
 * How long do garbage collections stop which Erlang process?
 *
 *     pydtrace -q -s scripts/erl-gc.d   (until Ctrl-C; the nodes have called pyusdt_vm:enable())
 *
 * Prints, for instance:
 *
 *     node     process              collections  longest  all, in microseconds
 *     4711     <0.85.0>                      20      912  8120
 */

erlang*:::gc_minor-start,
erlang*:::gc_major-start
{
	self->since = timestamp;
}

erlang*:::gc_minor-end,
erlang*:::gc_major-end
/self->since/
{
	@n[pid, copyinstr(arg0)] = count();
	@longest[pid, copyinstr(arg0)] = max((timestamp - self->since) / 1000);
	@all[pid, copyinstr(arg0)] = sum((timestamp - self->since) / 1000);
	self->since = 0;
}

END
{
	printf("%-8s %-20s %11s %8s  %s\n", "node", "process", "collections", "longest", "all, in microseconds");
	printa("%-8d %-20s %@11d %@8d  %@d\n", @n, @longest, @all);
}
