BEGIN { printf("%*d", "5", 1); }
