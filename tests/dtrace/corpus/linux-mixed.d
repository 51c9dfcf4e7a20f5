BEGIN { x = 5; trace(1); trace((char)2); trace((short)-3); trace((int)4); trace("str"); trace(x); printf("hello %d\n", 3); }
BEGIN { printf("no newline"); trace("tail with  spaces"); }
BEGIN { @a["key", 1, (int)-2, "k2"] = count(); @a["a key longer than fifty characters, which overflows its column by some", 1, (int)-2, "k2"] = count();
 @b[7] = quantize(3); @b[-7] = quantize(-300); @c = lquantize(5, 0, 10, 2); @c = lquantize(-5,0,10,2); @c = lquantize(500,0,10,2); @l["x"] = llquantize(42, 10, 0, 3, 10); @l["x"] = llquantize(-42, 10, 0, 3, 10);@l["x"] = llquantize(0, 10, 0, 3, 10); @l["x"] = llquantize(100000, 10, 0, 3, 10);
 @s = stddev(5); @avg["q"]=avg(-7); @m=max(9223372036854775807); @n[(char)3,(short)4]=min(-9); }
BEGIN /1/ { trace(1/(x-5)); }
BEGIN { stack(); @st[stack()] = count(); exit(3); }
