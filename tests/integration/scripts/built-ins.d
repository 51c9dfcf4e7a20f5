/* program: events.py
 * options: -q
 * masked: id 2 3 4 5
 * masked: time 2 */
pyusdt$target:::user_trace-n1
{
	printf("%s %s\n", execname, probename);
	printf("%s %d\n", probefunc == "" ? "no function" : "function", pid == $target);
	printf("id %d %d %s %s\n", pid, tid, probeprov, probemod);
	printf("time %d\n", timestamp);
	printf("%d %d\n", timestamp > 0, tid == pid);
}
