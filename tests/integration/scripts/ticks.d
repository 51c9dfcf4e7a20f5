/* program: busy.py */
pyusdt$target:::user_trace-i4s4 { printf("event"); armed = 1; }
tick-50ms /armed/ { ticks++; }
tick-50ms /ticks == 3/ { printf("third tick"); exit(0); }
