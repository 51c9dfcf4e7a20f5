#pragma D option quiet
#pragma D option strsize=64

BEGIN
{
	s = "hello, world";
	e = "";
	printf("%d %d %d %d\n", strlen(s), strlen(e), strlen(probename), strlen(strjoin(s, s)));
}

BEGIN
{
	printf("%d\n", index(s, "o"));
	printf("%d\n", index(s, "o", 5));
}

BEGIN
{
	printf("%d %d\n", index(s, "xyz"), rindex(s, "o"));
}

BEGIN
{
	printf("%d %d\n", rindex(s, "o", 5), rindex(s, "l", -1));
}

BEGIN
{
	printf("%d %d\n", index(s, "", 400), rindex(s, "", 400));
}

BEGIN
{
	printf("%d %d\n", index("aabaabaaab", "aabaaa"), rindex("aaaa", "aa"));
}

BEGIN
{
	printf("%s|%s|%s|%s\n", substr(s, 7), substr(s, -5, 3), substr(s, 2, -2), substr(s, -20, 10));
	printf("%s|%s|%s\n", strchr(s, 'o'), strrchr(s, 'o'), strjoin(s, e));
}

BEGIN
{
	printf("%s|%d\n", strstr(s, "wor"), strstr(s, "no") == NULL);
}

BEGIN
{
	printf("%s|%s|%s|%s\n", basename("/a/b//c/"), basename("//"), dirname("/a/b//c/"), dirname("c"));
	printf("%s|%s|%s\n", lltostr(-1234567), lltostr(0), lltostr(0x8000000000000000));
}

BEGIN
{
	printf("%s|%s\n", strtok(s, ", "), strtok(NULL, "r"));
	printf("%x %x %x\n", htons(0x1234), htonl(0x12345678), htonll(0x123456789abcdef0));
	printf("%x %x\n", getmajor(0xabcdef0123456789), getminor(0xabcdef0123456789));
}

BEGIN
{
	printf("%s\n", strtok(NULL, " "));
}

BEGIN
{
	printf("%s\n", strtok(NULL, " "));
}

BEGIN
{
	printf("%s\n", strrchr(s, 'z'));
}

BEGIN
{
	exit(0);
}
