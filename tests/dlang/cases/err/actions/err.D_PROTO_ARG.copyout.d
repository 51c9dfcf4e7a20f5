BEGIN { copyout(arg0, 0x1000, 4); }
