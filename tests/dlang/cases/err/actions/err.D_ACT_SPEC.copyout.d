BEGIN { speculate(1); x = 1 ? (copyout(alloca(4), 0x1000, 4), 2) : 3; }
