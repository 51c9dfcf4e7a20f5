/*
 * Which calls of ETS take longer than n microseconds, of which table?
 *
 *     pydtrace -q -s scripts/erl-ets.d 100   (until Ctrl-C; the nodes have called pyusdt_vm:enable())
 *
 *     --us=100  how many microseconds are long
 *
 * Prints, for instance:
 *
 *     orders           ets:tab2list/1       calls      3  slow      3  longest     1204 us
 */

erlang*:::ets-return
{
	@n[copyinstr(arg2), copyinstr(arg1)] = count();
	@slow[copyinstr(arg2), copyinstr(arg1)] = sum(arg3 > $1 * 1000 ? 1 : 0);
	@longest[copyinstr(arg2), copyinstr(arg1)] = max(arg3 / 1000);
}

END
{
	printa("%-16s %-20s calls %@6d  slow %@6d  longest %@8d us\n", @n, @slow, @longest);
}
