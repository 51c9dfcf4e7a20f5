BEGIN { printf("%d %q\n", 1, 2); }
