/*
 * A hexadecimal or octal constant with U is signed where a long holds it; with u it is unsigned.
 */
BEGIN
{
	printf("%d %d %d\n", 10 - 0x7000000000000000U, 10 - 0x7000000000000000UL, 10 - 0x7000000000000000ULL);
	printf("%d %d %d\n", 10 - 0x7000000000000000u, 10 - 0x7000000000000000ul, 10 - 07000000000000000000u);
	printf("%d %d %d\n", 10 - 0700000000000000000U, 10 - 4294967297U, 10 - 4294967297u);
	printf("%d %d %d\n", 10 - 0xd000000000000000U, 5U - 6U, 0xfU - 0x10U);
	exit(0);
}
