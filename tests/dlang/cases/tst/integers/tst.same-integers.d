/*
 * Integer types of one size and sign are one type with several names: their pointers compare,
 * subtract and replace each other.
 */
BEGIN
{
	printf("%d %d\n", (long *)8 == (long long *)8, (u64 *)8 == (uint64_t *)8);
	printf("%d %d\n", (char *)8 == (signed char *)9, (loff_t *)8 == (long *)8);
	printf("%d\n", (u_longlong_t *)24 - (unsigned long *)8);
	p = (long *)1;
	p = (long long *)2;
	printf("%p\n", p);
	exit(0);
}
