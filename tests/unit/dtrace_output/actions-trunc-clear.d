BEGIN {
	@a[1] = sum(1);
	@a[2] = sum(2);
	@a[3] = sum(3);
	@a[4] = sum(-4);
	@b[1] = count();
	@b[2] = count();
	@c = count();
	@q["a"] = quantize(1);
	@q["b"] = quantize(100);
	@q["c"] = quantize(-5);
	@m[1] = max(3);
	@n[1] = min(3);
	@t[1] = avg(5);
}
BEGIN {
	trunc(@a, 2);
	printa(@a);
	trunc(@a, -1);
	printa(@a);
	trunc(@b);
	printa(@b);
	trunc(@c);
	printa(@c);
	trunc(@q, 1);
	printa(@q);
	clear(@m);
	printa(@m);
	clear(@n);
	printa(@n);
	@x = count();
	clear(@x);
	printa(@x);
	@y[1] = count();
	clear(@y);
	printa(@y);
	printa("%d %@d\n", @y);
	trunc(@a, 0);
	printa(@a);
	exit(0);
}
END { printa("end %d %@d\n", @m);
}
