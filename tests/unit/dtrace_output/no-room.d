/* A store of a dynamic variable that finds no room ends its clause, without a record. */
#pragma D option quiet
#pragma D option strsize=512
#pragma D option dynvarsize=1024
int x, a[string];
BEGIN { x = 1; a["Harding"] = 1; x = 2; a["Hoover"] = 1; x = 3; printf("never\n"); }
BEGIN { printf("%d %d %d\n", x, a["Harding"], a["Hoover"]); }
BEGIN { x = 4; printf("never\n"); a["Nixon"]++; x = 5; }
BEGIN { a["Harding"] = 7; printf("%d %d %d\n", x, a["Harding"], a["Nixon"]); }
BEGIN { a["Harding"] = 0; a["Bush"] = 8; printf("%d %d\n", a["Harding"], a["Bush"]); }
BEGIN { exit(0); }
