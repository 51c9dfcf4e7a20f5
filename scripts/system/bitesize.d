/* How large are the requests to disks, by program?  pydtrace -qs scripts/system/bitesize.d   (until Ctrl-C) */
io:::start { @[execname, "bytes"] = quantize(args[0]->b_bcount); }
