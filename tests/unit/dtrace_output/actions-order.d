BEGIN {
	@a["x",1] = sum(5);
	@a["y",2] = sum(-7);
	@a["z",-3] = sum(5);
	@b["x",1] = count();
	@b["y",2] = count();
	@b["y",2] = count();
	@c["z",-3] = max(100);
	@c["w",9] = max(-3);
	@m["x",1] = min(4);
	@m["q",7] = min(-4);
	@q["x",1] = quantize(5);
	@q["y",2] = quantize(-9);
	@q["y",2] = quantize(0);
	@l["x",1] = lquantize(15, 0, 100, 10);
	@l["y",2] = lquantize(500, 0, 100, 10);
	@g["x",1] = llquantize(250, 10, 0, 3, 10);
	@g["y",2] = llquantize(-2500, 10, 0, 3, 10);
}
BEGIN {
	printa(@a, @b, @c);
	printa("%s %d|%@d|%@8u|%@-6d|%@x\n", @a, @b, @c, @m);
	printa(@c, @m);
	exit(0);
}
