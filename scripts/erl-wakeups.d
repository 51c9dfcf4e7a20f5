/*
 * How long does it take until a process that was sent a message runs?
 *
 *     pydtrace -q -s scripts/erl-wakeups.d   (until Ctrl-C; the nodes have called pyusdt_vm:enable())
 *
 * Prints, for instance:
 *
 *     nanoseconds from the first message to a process until it is scheduled
 *                value  ------------- Distribution ------------- count
 *                 2048 |                                         0
 *                 4096 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@ 20
 */

erlang*:::message-send
/!sent[pid, copyinstr(arg1)]/
{
	sent[pid, copyinstr(arg1)] = timestamp;
}

erlang*:::process-scheduled
/sent[pid, copyinstr(arg0)]/
{
	@took = quantize(timestamp - sent[pid, copyinstr(arg0)]);
	sent[pid, copyinstr(arg0)] = 0;
}

END
{
	printa("nanoseconds from the first message to a process until it is scheduled%@d\n", @took);
}
