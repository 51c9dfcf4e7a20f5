/* program: events.py */
pyusdt$target:::user_trace-i4s4 { @[probename, arg2 > 5, copyinstr(arg1)] = sum(arg4); }
END { printf("done"); }
