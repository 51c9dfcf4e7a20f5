BEGIN { (unsigned void)1; }
