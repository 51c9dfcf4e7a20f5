/* How many processes are made each second?  pydtrace -qs scripts/system/pidpersec.d */
proc:::create { @ = count(); }
tick-1s { printf("%Y ", walltimestamp); printa("%@d\n", @); clear(@); }
