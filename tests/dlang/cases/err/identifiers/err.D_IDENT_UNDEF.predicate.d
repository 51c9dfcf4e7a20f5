BEGIN
/seen/
{
	trace(1);
}
