#!/usr/sbin/dtrace -Zs
/* How long each function takes, as a distribution; and which lines of which file run. */
#pragma D option quiet

python*:::function-entry { self->began[copyinstr(arg1)] = timestamp; }

python*:::function-return
/self->began[copyinstr(arg1)]/
{
	@times[copyinstr(arg1)] = quantize(timestamp - self->began[copyinstr(arg1)]);
	self->began[copyinstr(arg1)] = 0;
}

python*:::line
{
	@lines[basename(copyinstr(arg0)), copyinstr(arg1), arg2] = count();
}

dtrace:::END
{
	printa("%-20s %-24s %6d %@8d\n", @lines);
	printa(@times);
}
