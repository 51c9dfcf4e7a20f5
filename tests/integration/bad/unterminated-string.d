BEGIN
{
	trace("abc);
}
