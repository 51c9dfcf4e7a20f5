BEGIN { trace(offsetof(struct point, y)); }
