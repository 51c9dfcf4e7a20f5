/* program: events.py
 * options: -q */
pyusdt$target:::user_trace-i4s4 /arg2 < 2/ { printf("before %d\n", arg2); printf("%d\n", 10 / arg2); }
pyusdt$target:::user_trace-n1 { printf("%s\n", copyinstr(arg7)); }
pyusdt$target:::user_trace-n2 { printf("%d goes on\n", arg2); }
