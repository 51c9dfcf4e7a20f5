BEGIN { a[(void)1] = 2; }
