translator struct point <int n> {
	x = n;
	y = n + 1;
};
BEGIN { }
