/* program: idle.py
 * options: -q */
pyusdt$target:::user_trace-i4s4 { printf("leaving\n"); exit(3); }
END { printf("END runs\n"); }
