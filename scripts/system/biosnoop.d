/* Each request to a disk: when, where, for whom, how long?  pydtrace -qs scripts/system/biosnoop.d
 * The process is the one that ran when the request was made, which may be the kernel's own thread. */
BEGIN { printf("%-10s %-16s %-7s %-8s %-1s %10s %7s %8s\n", "TIME(ms)", "COMM", "PID", "DISK", "D", "BLOCK", "BYTES", "LAT(us)"); start = timestamp; }
rawtp:block::block_io_start { begun[arg0] = timestamp; who[arg0] = execname; whose[arg0] = pid; size[arg0] = args[0]->__data_len; }
rawtp:block::block_io_done
/begun[arg0]/
{
	printf("%-10d %-16s %-7d %-8s %-1s %10d %7d %8d\n", (timestamp - start) / 1000000, who[arg0], whose[arg0],
	    stringof(args[0]->part->bd_disk->disk_name), args[0]->cmd_flags & 1 ? "W" : "R", args[0]->__sector, size[arg0],
	    (timestamp - begun[arg0]) / 1000);
	begun[arg0] = 0; who[arg0] = 0; whose[arg0] = 0; size[arg0] = 0;
}
