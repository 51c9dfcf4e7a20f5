BEGIN
{
	trace(1);
}

nosuchprovider*:::nosuchprobe
{
}
