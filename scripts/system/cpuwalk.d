/* Which CPUs are busy?  pydtrace -qs scripts/system/cpuwalk.d   (until Ctrl-C) */
profile-99 /pid/ { @["busy at"] = lquantize(cpu, 0, 1024, 1); }
