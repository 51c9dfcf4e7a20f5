/*
 * How many Erlang processes are born and die each second, and of which function and reason?
 *
 *     pydtrace -q -s scripts/erl-births.d   (until Ctrl-C; the nodes have called pyusdt_vm:enable())
 *
 * Prints, for instance:
 *
 *     20 born, 20 died
 *     in all:
 *       born  shop:order/1                 20
 *       died  normal                       20
 */

BEGIN
{
	born = 0;
	died = 0;
}

erlang*:::process-spawn
{
	born++;
	@born[copyinstr(arg1)] = count();
}

erlang*:::process-exit
{
	died++;
	@died[copyinstr(arg1)] = count();
}

tick-1s
{
	printf("%d born, %d died\n", born, died);
	born = 0;
	died = 0;
}

END
{
	printf("%d born, %d died\nin all:\n", born, died);
	printa("  born  %-24s %@6d\n", @born);
	printa("  died  %-24s %@6d\n", @died);
}
