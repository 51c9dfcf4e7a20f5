/*
 * Which function of a Python program makes objects, and of which types?  (CPython 3.13 and later)
 *
 *     pydtrace -q -s scripts/py-alloc.d -c 'python app.py'   (or -p PID, of a program that has the provider python)
 *
 * Prints, for instance:
 *
 *     objects, and bytes without what belongs to them (the items of a list, say)
 *       Row                              300000      12000000
 *     where
 *       Row
 *                   table.read (/srv/table.py:31)
 *                300000
 */

python*:::alloc
{
	@objects[copyinstr(arg0)] = count();
	@bytes[copyinstr(arg0)] = sum(arg1);
	@where[copyinstr(arg0), jstack(1)] = count();
}

END
{
	trunc(@objects, 20);
	trunc(@where, 20);
	printf("objects, and bytes without what belongs to them (the items of a list, say)\n");
	printa("  %-30s %@10d %@13d\n", @objects, @bytes);
	printf("where\n");
	printa("  %s%k  %@10d\n", @where);
}
