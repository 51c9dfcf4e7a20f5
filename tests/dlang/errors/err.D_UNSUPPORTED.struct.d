struct point {
	int x, y : 3;
	struct point *next;
};
BEGIN { }
