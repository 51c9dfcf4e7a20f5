/* Every function, with and without keys, over the same values. */
#pragma D option quiet
long v;
BEGIN {
	@c = count(); @s = sum(v); @mi = min(v); @ma = max(v); @a = avg(v); @q = quantize(v);
	v = 100;
	@c = count(); @s = sum(v); @mi = min(v); @ma = max(v); @a = avg(v); @q = quantize(v);
	v = -7;
	@c = count(); @s = sum(v); @mi = min(v); @ma = max(v); @a = avg(v); @q = quantize(v);
	@k["a", 1] = count(); @k["a", 2] = count(); @k["b", 1] = count(); @k["a", 1] = count();
	@ks["a", (char)3, -4] = avg(v); @ks["a", (char)3, -4] = avg(1);
	@kq["x"] = quantize(1023); @kq["x"] = quantize(1024); @kq["y"] = quantize(0); @kq["x"] = quantize(1 << 20);
	exit(0);
}
