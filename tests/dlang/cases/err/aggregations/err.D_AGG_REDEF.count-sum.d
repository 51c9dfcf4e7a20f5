BEGIN
{
	@calls = count();
}

END
{
	@calls = sum(1);
}
