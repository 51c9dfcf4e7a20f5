/* program: events.py
 * options: -q
 *
 * The real dtrace takes globs in a function's name, and no name at all, but no globs in the names of probes that
 * are described by ELF notes.
 */
pyusdt$target::*user_trace*:user_trace-n1,
pyusdt$target::[a-z]*n2:user_trace-n2,
pyusdt$target:::user_trace-n950
{
	printf("%s %d %s\n", probename, arg2, copyinstr(arg6));
}
