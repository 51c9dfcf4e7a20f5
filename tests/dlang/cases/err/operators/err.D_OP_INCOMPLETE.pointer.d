struct zork;
struct zork *p;
BEGIN { trace(p->x); }
