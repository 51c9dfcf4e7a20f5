/* program: events.py
 * options: -q */
int seen;
int never_set;
int64_t total;
string first;
BEGIN { seen = 10; first = "none"; }
pyusdt$target:::user_trace-i4s4 /first == "none"/ { first = copyinstr(arg6); }
pyusdt$target:::user_trace-i4s4 { this->twice = 2 * arg2; total += this->twice; seen++; }
pyusdt$target:::user_trace-i4s4 /arg2 == 11/ { printf("at 11: %d %d\n", seen++, ++seen); }
END { printf("%d %d %s %d\n", seen, total, first, never_set); }
