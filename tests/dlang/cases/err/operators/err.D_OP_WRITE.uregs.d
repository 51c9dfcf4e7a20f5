BEGIN { uregs[R_RAX] = 2; }
