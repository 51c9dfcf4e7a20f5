BEGIN { i = 1; trace(args[i]); }
