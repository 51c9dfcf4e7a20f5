/*
 * Which calls of Erlang or Elixir functions take longer than n ms (1 is a good start), waiting included?
 *
 *     pydtrace -q -s scripts/erl-slow-calls.d 1   (until Ctrl-C; of the modules of the option functions of pyusdt_vm:enable/1)
 *
 *     --ms=20  how many milliseconds are long
 *
 * Prints, for instance:
 *
 *          20 ms  shop:basket/1  <0.85.0>
 */

erlang*:::local-function-entry
{
	depth[pid, copyinstr(arg0)]++;
	began[pid, copyinstr(arg0), depth[pid, copyinstr(arg0)]] = timestamp;
}

erlang*:::function-return
/began[pid, copyinstr(arg0), depth[pid, copyinstr(arg0)]] && timestamp - began[pid, copyinstr(arg0), depth[pid, copyinstr(arg0)]] > $1 * 1000000/
{
	printf("%6d ms  %s  %s\n", (timestamp - began[pid, copyinstr(arg0), depth[pid, copyinstr(arg0)]]) / 1000000, copyinstr(arg1), copyinstr(arg0));
}

erlang*:::function-return
/depth[pid, copyinstr(arg0)]/
{
	began[pid, copyinstr(arg0), depth[pid, copyinstr(arg0)]] = 0;
	depth[pid, copyinstr(arg0)]--;
}
