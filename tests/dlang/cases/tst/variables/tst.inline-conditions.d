/* The branch that a constant condition leaves out, an inline's or an enumerator's, is of any type, as in DTraceToolkit's
   scripts, which choose what to print by options: `OPT_x ? printf(…) : 1;`. */
#pragma D option quiet
inline int YES = 1;
inline int NO = 0;

BEGIN
{
	YES ? printf("yes\n") : 1;
	YES && !NO ? printf("yes and not no\n") : 1;
	NO ? printf("never\n") : 1;
	YES == 1 ? printf("one\n") : 1;
	exit(0);
}
