/* The CPU that a probe fired on, by all its names; a machine of one package. */
#pragma D option quiet

self int chip;

BEGIN
{
	self->chip = 3;
	printf("%d %d %d %d\n", curcpu->cpu_id == cpu, curcpu->cpu_pset, curcpu->cpu_chip, curcpu->cpu_lgrp);
	printf("%d %d %d %d\n", pset, chip, lgrp, self->chip);
	printf("%d %d\n", sizeof (cpuinfo_t), sizeof (chipid_t));
	exit(0);
}
