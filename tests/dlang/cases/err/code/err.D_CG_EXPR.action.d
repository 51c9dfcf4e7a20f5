BEGIN { (void)printf("x"); }
