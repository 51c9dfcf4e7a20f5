BEGIN { p = &3; }
