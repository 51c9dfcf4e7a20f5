/*
 * Which processes, threads and tasks fire probes, and how often?
 *
 *     pydtrace -q -s scripts/who.d   (until Ctrl-C)
 *
 * Prints, for instance:
 *
 *     events, by process, thread and task
 *       python3          4711  <4711.4711>                    30
 *
 * Which arguments mean what: scripts/README.md.
 */

pyusdt*:::user_trace-i4s4, pyusdt*:::user_trace-n*
{
	@[execname, pid, copyinstr(arg0)] = count();
}

END
{
	printf("events, by process, thread and task\n");
	printa("  %-16s %6d  %-30s %@8d\n", @);
	trunc(@);
}
