/* A fault ends its clause and nothing of the clause's record is printed; the others run. */
#pragma D option quiet
int zero; int one;
BEGIN { one = 1; printf("first\n"); }
BEGIN { printf("%d", one); printf("%d\n", one / zero); }
BEGIN { printf("%d\n", one % zero); }
BEGIN /one / zero/ { printf("never\n"); }
BEGIN { one = 2; two = one / zero; one = 3; }
BEGIN { printf("%d\n", one); @a[one / zero] = count(); }
BEGIN { printf("last %d\n", one ? one : one / zero); exit(0); }
