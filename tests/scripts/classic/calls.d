#!/usr/sbin/dtrace -Zs
/* How often each function is called: file, and function. */
#pragma D option quiet

dtrace:::BEGIN { printf("tracing, end with Ctrl-C\n"); }

python*:::function-entry
{
	@calls[basename(copyinstr(arg0)), copyinstr(arg1)] = count();
}

dtrace:::END
{
	printf("%-24s %-32s %8s\n", "FILE", "FUNCTION", "CALLS");
	printa("%-24s %-32s %@8d\n", @calls);
}
