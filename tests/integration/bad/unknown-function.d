BEGIN
{
	nosuch(1);
}
