/*
 * How long do calls wait in the mailbox of a gen_server, by the name that it is called by, and how long does it work on them?
 *
 *     pydtrace -q -s scripts/erl-mailbox.d   (until Ctrl-C; the nodes have called pyusdt_vm:enable())
 *
 * Prints, for instance:
 *
 *     clerk waited, nanoseconds
 *                value  ------------- Distribution ------------- count
 *                 4096 |                                         0
 *                 8192 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@ 20
 */

erlang*:::gen_server-call-entry
{
	asked[pid, copyinstr(arg0)] = copyinstr(arg2);
}

erlang*:::gen_server-handle-return
/copyinstr(arg1) == "handle_call" && arg4/
{
	@waited[asked[pid, copyinstr(arg3)]] = quantize(arg4);
	@worked[asked[pid, copyinstr(arg3)]] = quantize(arg5);
}

END
{
	printa("%s waited, nanoseconds%@d\n", @waited);
	printa("%s worked, nanoseconds%@d\n", @worked);
}
