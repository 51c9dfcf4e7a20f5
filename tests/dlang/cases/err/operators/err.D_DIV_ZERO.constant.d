BEGIN
{
	trace(arg0 /
	    (2 - 2));
}
