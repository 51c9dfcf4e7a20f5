BEGIN { trace(((struct point *)arg0)->x); }
