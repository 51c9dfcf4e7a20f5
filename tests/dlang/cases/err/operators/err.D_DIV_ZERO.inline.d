inline int Z = 0;
BEGIN
{
	trace(1 / Z);
}
