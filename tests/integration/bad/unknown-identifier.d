BEGIN
{
	trace(argO);
}
