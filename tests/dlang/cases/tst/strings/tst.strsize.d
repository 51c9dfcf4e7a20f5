/* Strings are cut to strsize - 1 bytes, as values and as keys. */
#pragma D option quiet
#pragma D option strsize=12
string s;
BEGIN {
	s = "0123456789abcdef";
	printf("[%s] [%s] %d\n", s, "0123456789abcdef", s == "0123456789abc");
	x["0123456789abcdef"] = 1;
	printf("%d %d %d\n", x["0123456789a"], x["0123456789abc"], x["0123456789"]);
	@["0123456789abcdef"] = count(); @["0123456789abcxyz"] = count(); @["0123456789"] = count();
	exit(0);
}
