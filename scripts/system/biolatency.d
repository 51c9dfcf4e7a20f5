/* How long does a disk take for a request?  pydtrace -qs scripts/system/biolatency.d   (until Ctrl-C) */
io:::start { begun[arg0] = timestamp; }
io:::done
/begun[arg0]/
{
	@[args[1]->dev_statname, "microseconds"] = quantize((timestamp - begun[arg0]) / 1000);
	begun[arg0] = 0;
}
