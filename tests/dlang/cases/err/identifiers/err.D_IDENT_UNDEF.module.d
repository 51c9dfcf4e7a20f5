BEGIN { no_such_module`x[1] = 2; }
