enum e { B = 3 };
BEGIN
{
	trace(1 / (B - 3));
}
