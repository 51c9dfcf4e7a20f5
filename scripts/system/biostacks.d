/* Which code has disks read and write, and how long do its requests wait for the disk?  pydtrace -qs scripts/system/biostacks.d
 * (until Ctrl-C)  A stack can be a key, and no value: the times are those of each program. */
rawtp:block::block_io_start
{
	begun[arg0] = timestamp;
	who[arg0] = execname;
	@made[execname, stack()] = count();
}
rawtp:block::block_rq_issue
/begun[arg0]/
{
	@waits[who[arg0], "nanoseconds"] = quantize(timestamp - begun[arg0]);
	begun[arg0] = 0;
	who[arg0] = 0;
}
