BEGIN {
	@a = llquantize(15, 10, 1, 3, 10);
	@b = llquantize(-15, 10, 1, 3, 10);
	@c = llquantize(15, 10, 0, 3, 10);
	@d = llquantize(-1, 10, 0, 3, 10);
	@e = llquantize(-1500, 10, 2, 3, 10);
	@f = llquantize(-100, 10, 2, 3, 10);
	@g = llquantize(100, 10, 2, 3, 10);
	exit(0);
}
