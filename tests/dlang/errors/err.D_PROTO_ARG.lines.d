BEGIN
{
	trace(copyinstr(
	    execname));
}
