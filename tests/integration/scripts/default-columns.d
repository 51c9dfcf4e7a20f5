/* program: events.py */
BEGIN { printf("starting"); }
pyusdt$target:::user_trace-i4s4 /arg2 < 3/ { printf("%d %s", arg2, copyinstr(arg6)); }
pyusdt$target:::user_trace-n1 { trace(arg2); trace(copyinstr(arg6)); }
pyusdt$target:::user_trace-s1 { trace(copyinstr(arg0)); }
pyusdt$target:::user_trace-n2 { }
END { printf("ending\n"); }
