/*
 * Which way does a request go, from process to process and from node to node?
 *
 *     pydtrace -q -s scripts/erl-request.d   (until Ctrl-C)
 *
 * Prints, for instance:
 *
 *     order 7        0 us  node 4711 <0.85.0>        front: begins
 *     order 7      310 us  node 4711 <0.86.0>        worker: asks the store
 *     order 7     1502 us  node 4802 <0.92.0>        store: answers
 *     order 7     2210 us  node 4711 <0.85.0>        front: ends
 *
 * The process that a request begins in calls pyusdt:put_tag("order 7") and pyusdt:spread_tag(true): the tag goes with its messages,
 * in a sequential trace token, and with those of who receives them, who takes it over by pyusdt:put_tag(pyusdt:get_tag_data()),
 * and by pyusdt:put_tag(undefined) gives it up before the next request.
 * Each step is a call of pyusdt:p("front: begins"). From OTP 27 on, on nodes that have called pyusdt_vm:enable(), messages whose
 * token has a number for its label (seq_trace:set_token(label, 17)) are printed, too, with their serial.
 */

erlang*:::user_trace-i4s4
/arg1 && !began[copyinstr(arg1)]/
{
	began[copyinstr(arg1)] = timestamp;
}

erlang*:::user_trace-i4s4
/arg1/
{
	printf("%-12s %7d us  node %d %-15s %s\n", copyinstr(arg1), (timestamp - began[copyinstr(arg1)]) / 1000, pid, copyinstr(arg0),
	       arg6 ? copyinstr(arg6) : "");
}

erlang*:::message-send
/arg3 > 0/
{
	printf("label %d serial %d-%d  node %d %s -> %s\n", arg3, arg4, arg5, pid, copyinstr(arg0), copyinstr(arg1));
}

erlang*:::message-send-remote
/arg4 > 0/
{
	printf("label %d serial %d-%d  node %d %s -> %s on %s\n", arg4, arg5, arg6, pid, copyinstr(arg0), copyinstr(arg2), copyinstr(arg1));
}
