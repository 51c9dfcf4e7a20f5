/* program: idle.py
 * options: -q */
pyusdt$target:::user_trace-i4s4 { printf("leaving\n"); exit(3); printf("the clause goes on\n"); }
pyusdt$target:::user_trace-i4s4 { printf("later clauses of the firing do not run\n"); }
END { printf("END runs\n"); }
END { printf("and all of it\n"); }
