/* Addresses that can not be read; the variable keeps its value. */
#pragma D option quiet
string s;
BEGIN { s = "keep"; }
BEGIN { s = copyinstr(0); }
BEGIN { printf("%s\n", copyinstr(16)); }
BEGIN /copyinstr(32) == "a"/ { printf("never\n"); }
BEGIN { @[copyinstr(48)] = count(); }
BEGIN { printf("%s\n", s); exit(0); }
