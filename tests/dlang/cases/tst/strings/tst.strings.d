/* Assignment, comparison, NULL, ?: and string keys. */
#pragma D option quiet
string s; string empty; int zero; string names[int];
BEGIN {
	s = "abc";
	printf("[%s] [%s]\n", s, empty);
	printf("%d%d%d%d%d%d\n", s == "abc", s != "abc", s < "abd", s <= "abc", s > "ab", s >= "b");
	printf("%d %d %d\n", "" == empty, "a" < "", "abc" > s);
	self->s = s; this->s = self->s; names[7] = this->s;
	printf("%s %s %s\n", self->s, this->s, names[7]);
	x["key", s] = 3; x["key", "abd"] = 4;
	printf("%d %d %d\n", x["key", "abc"], x["key", "abd"], x["abc", "key"]);
	printf("%s %s\n", zero ? "yes" : "no", !zero ? this->s : "other");
	printf("%d\n", execname == probename);
}
BEGIN { printf("%d\n", names[8] == "a"); }
BEGIN { printf("%s\n", names[8]); }
BEGIN { names[7] = 0; printf("gone\n"); }
BEGIN { printf("%s\n", names[7]); }
BEGIN { self->s = 0; printf("gone\n"); }
BEGIN { s = names[7]; }
BEGIN { printf("%s %s %s %s\n", s, probeprov, probefunc, probename); }
BEGIN { exit(0); }
