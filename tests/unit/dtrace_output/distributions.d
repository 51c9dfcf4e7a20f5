BEGIN
{
	@one = quantize((long)0x0); 
	@one = quantize((long)0x1); 
	@one = quantize((long)0x2); 
	@one = quantize((long)0x3); 
	@one = quantize((long)0x4); 
	@one = quantize((long)0x7); 
	@one = quantize((long)0x8); 
	@one = quantize((long)0x3e8); 
	@one = quantize((long)0x10000000000); 
	@one = quantize((long)0xffffffffffffffff); 
	@one = quantize((long)0xfffffffffffffffe); 
	@one = quantize((long)0xfffffffffffffffd); 
	@one = quantize((long)0xfffffffffffffc18); 
	@bars = quantize((long)0x1); 
	@bars = quantize((long)0x2); @bars = quantize((long)0x2); 
	@bars = quantize((long)0x4); @bars = quantize((long)0x4); @bars = quantize((long)0x4); 
	@bars = quantize((long)0x8); @bars = quantize((long)0x8); @bars = quantize((long)0x8); @bars = quantize((long)0x8); 
	@bars = quantize((long)0x10); @bars = quantize((long)0x10); @bars = quantize((long)0x10); @bars = quantize((long)0x10); @bars = quantize((long)0x10); 
	@bars = quantize((long)0x20); @bars = quantize((long)0x20); @bars = quantize((long)0x20); @bars = quantize((long)0x20); @bars = quantize((long)0x20); @bars = quantize((long)0x20); 
	@bars = quantize((long)0x40); @bars = quantize((long)0x40); @bars = quantize((long)0x40); @bars = quantize((long)0x40); @bars = quantize((long)0x40); @bars = quantize((long)0x40); @bars = quantize((long)0x40); 
	@bars = quantize((long)0x80); @bars = quantize((long)0x80); @bars = quantize((long)0x80); @bars = quantize((long)0x80); @bars = quantize((long)0x80); @bars = quantize((long)0x80); @bars = quantize((long)0x80); @bars = quantize((long)0x80); 
	@bars = quantize((long)0x100); @bars = quantize((long)0x100); @bars = quantize((long)0x100); @bars = quantize((long)0x100); @bars = quantize((long)0x100); @bars = quantize((long)0x100); @bars = quantize((long)0x100); @bars = quantize((long)0x100); @bars = quantize((long)0x100); 
	@negative = quantize((long)0xffffffffffffffff); 
	@negative = quantize((long)0xfffffffffffffffe); 
	@negative = quantize((long)0xfffffffffffffffd); 
	@negative = quantize((long)0xfffffffffffffffc); 
	@negative = quantize((long)0xfffffffffffffffb); 
	@negative = quantize((long)0xfffffffffffffffa); 
	@negative = quantize((long)0xfffffffffffffff9); 
	@negative = quantize((long)0xfffffffffffffff8); 
	@keyed["a"] = quantize((long)0xa); 
	@keyed["b"] = quantize((long)0xb); 
	@keyed["c"] = quantize((long)0x0); 
	@keyed["d"] = quantize((long)0xfffffffffffffff6); 
	@keyed["e"] = quantize((long)0x0); 
	@keyed["e"] = quantize((long)0x0); 
	@keyed["f"] = quantize((long)0x1); 
	@keyed["f"] = quantize((long)0xffffffffffffffff); 
	@tuple[(int)0x2, "s"] = quantize((long)0x5); 
	@tuple[(int)0x1, "s"] = quantize((long)0x5); 
	@tuple[(int)0xffffffff, "s"] = quantize((long)0x6); 
	@tuple[(int)0x3, "s"] = quantize((long)0x4); 
	@large = quantize((long)0x4000000000000000); 
	@large = quantize((long)0x3fffffffffffffff); 
	@small = quantize((long)0xc000000000000000); 
	@small = quantize((long)0xc000000000000001); 
}
BEGIN
{
	exit(0);
}
