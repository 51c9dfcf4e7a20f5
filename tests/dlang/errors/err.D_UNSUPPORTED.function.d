BEGIN { copyoutstr("a", 1, 2); }
