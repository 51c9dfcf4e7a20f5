/* Missing elements are 0; keys of several types; assigning 0 deletes; clause-local variables. */
#pragma D option quiet
int n[int];
BEGIN {
	a[1, "one", 'c'] = 11; a[2, "one", 'c'] = 22; a[1, "two", 'c'] = 33;
	printf("%d %d %d %d\n", a[1, "one", 'c'], a[2, "one", 'c'], a[1, "two", 'c'], a[3, "one", 'c']);
	a[1, "one", 'c'] = 0; a[2, "one", 'c']++; a[9, "", 0] -= 5;
	printf("%d %d %d\n", a[1, "one", 'c'], a[2, "one", 'c'], a[9, "", 0]);
	self->t = 5; self->k[1] = 6; this->c = 7;
	printf("%d %d %d\n", self->t, self->k[1], this->c);
}
BEGIN { self->t = 0; this->c++; n[n[0]] = 1; n[n[0]] = 2; }
BEGIN { printf("%d %d %d %d %d\n", self->t, self->k[1], this->c, n[0], n[1]); exit(0); }
