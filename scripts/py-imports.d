/*
 * Which imports make a Python program start slowly?  (The time of a module holds that of those it imports.)
 *
 *     pydtrace -q -s scripts/py-imports.d -c 'python app.py'
 *
 * Prints, for instance:
 *
 *     time of imports, with what they import
 *       sqlalchemy                                       204112 us
 */

python*:::import-find-load-start
{
	self->depth++;
	began[tid, self->depth] = timestamp;
}

python*:::import-find-load-done
/self->depth > 0/
{
	@took_us[copyinstr(arg0)] = sum((timestamp - began[tid, self->depth]) / 1000);
	began[tid, self->depth] = 0;
	self->depth--;
}

END
{
	trunc(@took_us, 20);
	printf("time of imports, with what they import\n");
	printa("  %-40s %@10d us\n", @took_us);
}
