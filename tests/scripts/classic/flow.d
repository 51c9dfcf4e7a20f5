#!/usr/sbin/dtrace -Zs
/* Each call and return, indented, with the line. */
#pragma D option quiet
#pragma D option switchrate=10

self int depth;

python*:::function-entry
{
	printf("%s:%-4d %*s-> %s\n", basename(copyinstr(arg0)), arg2, self->depth * 2, "", copyinstr(arg1));
	self->depth++;
}

python*:::function-return
/self->depth > 0/
{
	self->depth--;
	printf("%s:%-4d %*s<- %s\n", basename(copyinstr(arg0)), arg2, self->depth * 2, "", copyinstr(arg1));
}
