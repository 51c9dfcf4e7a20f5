BEGIN { a + b = 1; }
