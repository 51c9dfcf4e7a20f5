struct point { int x; };
BEGIN { trace(offsetof(struct point, y)); }
