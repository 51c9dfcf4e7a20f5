BEGIN { trace(arg0 ? "yes" : 1); }
