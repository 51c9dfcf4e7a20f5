/* When does the kernel write back files, how much, and why?  pydtrace -qs scripts/system/writeback.d
 * REASON: enum wb_reason of the kernel (0 background, 1 vmscan, 2 sync, 3 periodic, …). */
BEGIN { printf("%-20s %-8s %-8s %s\n", "TIME", "PAGES", "REASON", "LATENCY(us)"); }
rawtp:writeback::writeback_start { self->begun = timestamp; }
rawtp:writeback::writeback_written
/self->begun/
{
	printf("%-20Y %-8d %-8d %d\n", walltimestamp, args[1]->nr_pages, args[1]->reason, (timestamp - self->begun) / 1000);
	self->begun = 0;
}
