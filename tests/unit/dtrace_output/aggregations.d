BEGIN
{
	@count = count(); @count = count(); @count = count(); 
	@sum = sum((long)0xfffffffffffffffb); 
	@min = min((long)0xfffffffffffffffd); 
	@min = min((long)0x4); 
	@max = max((long)0xfffffffffffffffd); 
	@max = max((long)0x4); 
	@avg = avg((long)0xfffffffffffffff9); 
	@avg = avg((long)0x2); 
	@strings["abc"] = sum((long)0xffffffffffffffff); 
	@strings["zz"] = sum((long)0x1); 
	@strings["a"] = sum((long)0x0); 
	@strings[""] = sum((long)0xffffffffffffffff); 
	@strings["ab"] = sum((long)0x1); 
	@strings["kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"] = sum((long)0x0); 
	@strings["mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm"] = sum((long)0x1); 
	@strings["tab\011"] = sum((long)0x0); 
	@strings["\007\010"] = sum((long)0x1); 
	@strings["new\012line"] = sum((long)0x1); 
	@strings["\303\251"] = sum((long)0x1); 
	@strings["x\001"] = sum((long)0x1); 
	@edges[(int)0x0] = max((long)0x0); 
	@edges[(int)0x1] = max((long)0x1); 
	@edges[(int)0xffffffff] = max((long)0x2); 
	@edges[(int)0x80000000] = max((long)0x3); 
	@edges[(int)0x7fffffff] = max((long)0x4); 
	@edges[(int)0x41] = max((long)0x5); 
	@all[(char)0xff, (unsigned char)0xff, (short)0xffff, (unsigned short)0xffff, (int)0xffffffff, (unsigned int)0xffffffff, (long)0xffffffffffffffff, (unsigned long)0xffffffffffffffff] = count(); 
	@several[(char)0x1, "x", (short)0x1] = min((long)0x5); 
	@several[(char)0xff, "x", (short)0xffff] = min((long)0x5); 
	@several[(char)0x1, "b", (short)0x1] = min((long)0x5); 
	@several[(char)0x1, "b", (short)0x1] = min((long)0x4); 
	@several[(char)0x0, "", (short)0x0] = min((long)0x4000000000000000); 
	@several[(char)0x0, "", (short)0x0] = min((long)0xc000000000000000); 
	@averages[(int)0x0] = avg((long)0xfffffffffffffff9); 
	@averages[(int)0x1] = avg((long)0x7); 
	@averages[(int)0x2] = avg((long)0x0); 
	@averages[(int)0x3] = avg((long)0x3); 
	@averages[(int)0x4] = avg((long)0xfffffffffffffffd); 
	@averages[(int)0x5] = avg((long)0x64); 
	@averages[(int)0x0] = avg((long)0x2); 
	@averages[(int)0x1] = avg((long)0xfffffffffffffffe); 
	@averages[(int)0x2] = avg((long)0x1); 
	@averages[(int)0x3] = avg((long)0x4); 
	@averages[(int)0x4] = avg((long)0xfffffffffffffffc); 
	@averages[(int)0x5] = avg((long)0x1); 
}
BEGIN
{
	exit(0);
}
