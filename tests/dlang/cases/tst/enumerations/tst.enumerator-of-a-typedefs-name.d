/* An enumerator that has a typedef's name is meant first. */
typedef long B;
enum e { C, B, pid_t };
int a[B];

BEGIN
{
	trace(B);
	trace(pid_t);
	trace(sizeof(B));
	trace(sizeof(a));
	this->x = B + 2;
	trace(this->x);
	exit(0);
}
