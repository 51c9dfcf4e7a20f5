/* A translated struct with bit-fields is made as a whole. */
#pragma D option quiet
struct bits { int low : 3; int high : 13; int rest; };
translator struct bits < int *p > { low = 3; high = 5; rest = 7; };
BEGIN { this->b = xlate <struct bits> ((int *)0); printf("%d %d %d", this->b.low, this->b.high, this->b.rest); exit(0); }
