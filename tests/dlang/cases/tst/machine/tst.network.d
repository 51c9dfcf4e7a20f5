/* Addresses as text: every form that inet_ntoa6() tells apart, and what strict changes. */
#pragma D option quiet
#pragma D option scratchsize=1024

struct in6_addr *a;
uint32_t *v4;
uint8_t hw[20];

BEGIN
{
	a = (struct in6_addr *)alloca(16);
	printf("%s\n", inet_ntoa6(a));
	a->in6_u.u6_addr8[15] = 1;
	printf("%s %s\n", inet_ntoa6(a), inet_ntoa6(a, 1));
	a->in6_u.u6_addr8[12] = 0x7f;
	printf("%s %s %s\n", inet_ntoa6(a), inet_ntoa6(a, 1), inet_ntop(AF_INET6, a));
	a->in6_u.u6_addr8[10] = 0xff;
	a->in6_u.u6_addr8[11] = 0xff;
	printf("%s %s\n", inet_ntoa6(a, 0), inet_ntoa6(a, 7));
	a->in6_u.u6_addr8[0] = 0x20;
	a->in6_u.u6_addr8[7] = 0x0c;
	printf("%s\n", inet_ntoa6(a));
	a->in6_u.u6_addr8[11] = 0xfe;
	a->in6_u.u6_addr8[14] = 0xab;
	printf("%s\n", inet_ntoa6(a));
	v4 = (uint32_t *)alloca(4);
	*v4 = htonl(0x0a000164);
	printf("%s %s %d\n", inet_ntoa(v4), inet_ntop(AF_INET, v4), strlen(inet_ntoa(v4)));
	hw[0] = 0xab; hw[5] = 7; hw[19] = 0xff;
	printf("%s\n%s\n", link_ntop(ARPHRD_ETHER, hw), link_ntop(ARPHRD_INFINIBAND, hw));
}

BEGIN
{
	printf("%s\n", link_ntop(5, hw));
}

BEGIN
{
	exit(0);
}
