BEGIN {
	@a[1] = sum(100);
	@a[2] = sum(-100);
	@a[3] = sum(7);
	@d[1] = avg(-100);
	@q = quantize(100);
	@q = quantize(3);
	@s[1] = stddev(10);
	@s[1] = stddev(-50);
	@c = count();
	@m[1] = min(-9);
	@mm[1] = max(-9);
}
BEGIN {
	normalize(@a, 10);
	printa(@a);
	printa("%d %@d %@u\n", @a);
	normalize(@d, 3);
	printa(@d);
	normalize(@q, 2);
	printa(@q);
	denormalize(@a);
	printa(@a);
	normalize(@s, 7);
	printa(@s);
	normalize(@c, 5);
	printa(@c);
	normalize(@m, 2);
	printa(@m);
	normalize(@mm, 2);
	printa(@mm);
	exit(0);
}
