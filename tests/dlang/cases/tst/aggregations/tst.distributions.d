#pragma D option quiet

BEGIN
{
	@l["linear", 1] = lquantize(-5, 0, 10);
	@l["linear", 1] = lquantize(3, 0, 10, 1, 4);
	@l["linear", 2] = lquantize(100, 0, 10);
	@steps = lquantize(57, 0, 100, 10);
	@steps = lquantize(99, 0, 100, 10, -3);
	@log = llquantize(1, 10, 0, 2, 20);
	@log = llquantize(0, 10, 0, 2, 20);
	@log = llquantize(-37, 10, 0, 2, 20);
	@log = llquantize(123456, 10, 0, 2, 20);
	@few = llquantize(650, 10, 2, 4, 5);
	@few = llquantize(-3, 10, 2, 4, 5);
	@two = llquantize(13, 2, 2, 6, 8);
	@power = quantize(5, 10);
	@power = quantize(-5, -10);
	@minus = quantize(-4096, -1);
	@deviation["a"] = stddev(1000000000000);
	@deviation["a"] = stddev(-1000000000000);
	@deviation["b"] = stddev(7);
	@none = lquantize(5, 0, 10, 1, 0);
	exit(0);
}
