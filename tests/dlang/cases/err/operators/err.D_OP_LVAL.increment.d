BEGIN { (1 + arg0)++; }
