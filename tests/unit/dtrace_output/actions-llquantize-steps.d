int x;
BEGIN {
	@a = llquantize(x, 10, 0, 6, 20);
	@a = llquantize(1, 10, 0, 6, 20);
	@a = llquantize(123456, 10, 0, 6, 20);
	@a = llquantize(99999999, 10, 0, 6, 20);
	@b = llquantize(37, 2, 0, 10, 2);
	@b = llquantize(3, 2, 0, 10, 2);
	@c = llquantize(37, 5, 1, 4, 5);
	@c = llquantize(2, 5, 1, 4, 5);
	@d = llquantize(-37, 10, 1, 3, 100);
	@d = llquantize(999, 10, 1, 3, 100);
	@e = llquantize(5000, 10, 2, 4, 10, 7);
	@f = llquantize(17, 8, 0, 3, 16);
	@f = llquantize(900, 8, 0, 3, 16);
	@h = llquantize(33, 100, 0, 2, 50);
	@i = llquantize(6, 4, 0, 2, 2);
	exit(0);
}
