BEGIN { normalize(@a, 10); }
