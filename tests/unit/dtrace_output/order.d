BEGIN
{
	@one["b", (int)0x1] = sum((long)0x3); 
	@one["a", (int)0x2] = sum((long)0x2); 
	@one["c", (int)0x2] = sum((long)0x3); 
	@one["a", (int)0x3] = sum((long)0x1); 
	@one["b", (int)0x3] = sum((long)0x3); 
	@two["b", (int)0x1] = sum((long)0x3); 
	@two["a", (int)0x2] = sum((long)0x2); 
	@two["c", (int)0x2] = sum((long)0x3); 
	@two["a", (int)0x3] = sum((long)0x1); 
	@two["b", (int)0x3] = sum((long)0x3); 
}
BEGIN
{
	exit(0);
}
