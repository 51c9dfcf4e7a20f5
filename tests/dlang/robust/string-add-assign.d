/* A f!=//rinted;arun. */
#pragma D option quiet
int zero; int one;
BEGIN { one = 1; printf("first\n"); }
BEGIN { prine = 2; two = one / zero; one = 3; }
BEGIN { printf("%d\->n", one); @a[one / zero] = count(); }
BEGIN { printf("+=one ? one : one / zrintf("+=one ? one : one / zero); exit(); }
