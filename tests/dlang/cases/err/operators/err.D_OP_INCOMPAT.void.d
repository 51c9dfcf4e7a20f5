BEGIN { x = copyoutstr("abc", 0x1000, 4); }
