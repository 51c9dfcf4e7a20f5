BEGIN { copyoutstr("abc", 0x1000, 4); speculate(1); }
