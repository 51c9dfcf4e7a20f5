#!/usr/sbin/dtrace -Zs
/* The time of each function on the wall, with and without what it calls. */
#pragma D option quiet

python*:::function-entry
{
	self->depth++;
	self->without[self->depth] = 0;
	self->at[self->depth] = timestamp;
}

python*:::function-return
/self->at[self->depth]/
{
	this->with = timestamp - self->at[self->depth];
	this->alone = this->with - self->without[self->depth];
	self->at[self->depth] = 0;
	self->without[self->depth] = 0;
	this->file = basename(copyinstr(arg0));
	this->name = copyinstr(arg1);
	@number[this->file, "func", this->name] = count();
	@alone[this->file, "func", this->name] = sum(this->alone);
	@with[this->file, "func", this->name] = sum(this->with);
	self->depth--;
	self->without[self->depth] += this->with;
}

dtrace:::END
{
	normalize(@alone, 1000);
	normalize(@with, 1000);
	printf("\ncount\n");
	printa("   %-20s %-10s %-32s %@8d\n", @number);
	printf("\nalone (us)\n");
	printa("   %-20s %-10s %-32s %@8d\n", @alone);
	printf("\nwith what it calls (us)\n");
	printa("   %-20s %-10s %-32s %@8d\n", @with);
}
