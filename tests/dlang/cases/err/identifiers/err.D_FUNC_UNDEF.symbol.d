BEGIN { a`f(1); }
