BEGIN { s = "x"; s <<= 1; }
