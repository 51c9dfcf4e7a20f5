/*
 * Which calls of an Erlang or Elixir module's functions take longer than n ms (1 is a good start), waiting included?
 *
 *     pydtrace -q -s scripts/erl-slow-calls.d 1 shop   (until Ctrl-C; n and the module, which may be a pattern: 'shop_*')
 *
 *     --ms=20  how many milliseconds are long
 *     --module=MODULE  whose functions; a pattern, too
 *
 * Prints, for instance:
 *
 *          20 ms  shop:basket/1  <0.85.0>
 */

/* A call that ends by an exception has no return: its function's next one is a level deeper, and has its own time. */
erlang*:$2::local-function-entry
{
	depth[pid, copyinstr(arg0), copyinstr(arg1)]++;
	began[pid, copyinstr(arg0), copyinstr(arg1), depth[pid, copyinstr(arg0), copyinstr(arg1)]] = timestamp;
}

erlang*:$2::function-return
{
	this->took = 0;
}

erlang*:$2::function-return
/depth[pid, copyinstr(arg0), copyinstr(arg1)]/
{
	this->depth = depth[pid, copyinstr(arg0), copyinstr(arg1)]--;
	this->took = timestamp - began[pid, copyinstr(arg0), copyinstr(arg1), this->depth];
	began[pid, copyinstr(arg0), copyinstr(arg1), this->depth] = 0;
}

erlang*:$2::function-return
/this->took > $1 * 1000000/
{
	printf("%6d ms  %s  %s\n", this->took / 1000000, copyinstr(arg1), copyinstr(arg0));
}
